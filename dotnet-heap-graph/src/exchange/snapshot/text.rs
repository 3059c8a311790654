//! Names as C# has them, from the runtime's notation.

/// How far arguments of arguments are followed.
const MAX_DEPTH: u32 = 32;

/// The name of a type in C#, from the runtime's notation: `Dictionary<System.Int32, Known.Node>.Entry[]` of
/// ``Dictionary`2+Entry[System.Int32,Known.Node][]``.
///
/// Before .NET 10 the runtime leaves out the outer types of a nested one, and their namespace.
pub fn type_name(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let rest = one(name, &mut out, MAX_DEPTH);
    out + rest
}

/// Appends one type, and returns what is behind it.
fn one<'a>(text: &'a str, out: &mut String, depth: u32) -> &'a str {
    let Some(depth) = depth.checked_sub(1) else {
        out.push_str(text);
        return "";
    };
    let (head, mut rest) = text.split_at(text.find(['[', ']', ',']).unwrap_or(text.len()));
    let mut arguments = Vec::new();
    if let Some(mut list) = rest.strip_prefix('[').filter(|list| !list.starts_with([']', ',', '*'])) {
        loop {
            let mut argument = String::new();
            list = one(list, &mut argument, depth);
            arguments.push(argument);
            match list.strip_prefix(',') {
                Some(more) => list = more,
                None => break,
            }
        }
        rest = list.strip_prefix(']').unwrap_or(list);
    }
    compose(head, &arguments, out);
    // Arrays, also of arrays; pointers.
    loop {
        let end = if rest.starts_with('[') { rest.find(']').map(|end| end + 1) } else { None };
        let end = end.or_else(|| rest.starts_with(['*', '&']).then_some(1));
        let Some((suffix, behind)) = end.and_then(|end| rest.split_at_checked(end)) else { return rest };
        out.push_str(suffix);
        rest = behind;
    }
}

/// Gives each of the nested types the arguments that its own name counts. Without the names of the outer types, the last
/// one gets theirs, too.
fn compose(head: &str, arguments: &[String], out: &mut String) {
    let count = |part: &str| part.rsplit_once('`').and_then(|(_, count)| count.parse::<usize>().ok());
    let counted = head.split('+').filter_map(count).fold(0, usize::saturating_add);
    let mut left = arguments;
    let mut parts = head.split('+').peekable();
    while let Some(part) = parts.next() {
        let of_outer = if parts.peek().is_none() { arguments.len().saturating_sub(counted) } else { 0 };
        let own = count(part);
        let name = if own.is_some() { part.rsplit_once('`').map_or(part, |(name, _)| name) } else { part };
        let taken = own.unwrap_or(0).saturating_add(of_outer).min(left.len());
        let (own, rest) = left.split_at(taken);
        left = rest;
        out.push_str(name);
        if !own.is_empty() {
            out.push('<');
            out.push_str(&own.join(", "));
            out.push('>');
        }
        if parts.peek().is_some() {
            out.push('.');
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::type_name;

    #[test]
    fn names_are_as_in_csharp() {
        for (name, expected) in [
            ("System.String", "System.String"),
            ("Known.Node[]", "Known.Node[]"),
            ("Known.Node[,][]", "Known.Node[,][]"),
            (
                "System.Collections.Generic.List`1[Known.Order]",
                "System.Collections.Generic.List<Known.Order>",
            ),
            ("A.Outer`1+Inner`2[X,Y,Z]", "A.Outer<X>.Inner<Y, Z>"),
            ("A.Outer`1+Inner[System.Int32][]", "A.Outer<System.Int32>.Inner[]"),
            ("Entry[System.Int32,Known.Node]", "Entry<System.Int32, Known.Node>"),
            ("F`1[G`2[A[],B]]", "F<G<A[], B>>"),
            ("Inner`1[X,Y,Z]", "Inner<X, Y, Z>"),
            ("<>c", "<>c"),
            ("F`1", "F"),
            ("A[", "A<>"),
            ("A[B", "A<B>"),
        ] {
            assert_eq!(type_name(name), expected, "{name}");
        }
        // Deeper than anybody nests types.
        assert!(type_name(&"A`1[".repeat(10_000)).len() < 100_000);
    }

    proptest! {
        #[test]
        fn any_text_has_a_name(text in "[A`1+\\[\\],é*]{0,40}") {
            let _name = type_name(&text);
        }
    }
}
