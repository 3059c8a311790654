//! Names without namespaces, for ways that are to be read at a glance.

/// A type, as `List<Order>.Entry[]` for `System.Collections.Generic.List<Demo.Order>.Entry[]`. What was made for a method
/// keeps the type around it: `Orders.Load (async)`.
pub(super) fn type_name(name: &str) -> String {
    without_namespaces(name, 1)
}

/// A method or a field, with its type: `Service._orders` for `Demo.Service._orders`.
pub(super) fn member(name: &str) -> String {
    without_namespaces(name, 2)
}

/// What is said in brackets behind a type, and not behind one of its members.
const OF_THE_TYPE: [&str; 6] =
    ["constructor", "static constructor", "finalizer", "top-level statements", "closure", "anonymous type"];

/// Keeps so many parts at the end of the name, and one part of each name within it.
fn without_namespaces(name: &str, parts: usize) -> String {
    let mut text = String::with_capacity(name.len());
    // Where the parts of the present path begin. A path behind brackets belongs to what is before them.
    let mut starts = vec![0];
    let mut depth = 0_u32;
    for (at, c) in name.char_indices() {
        match c {
            '.' if starts.is_empty() => text.push(c),
            '.' => {
                text.push(c);
                starts.push(text.len());
            }
            '_' | '@' | '`' | '…' => text.push(c),
            c if c.is_alphanumeric() => text.push(c),
            _ => {
                let kept = if depth > 0 { 1 } else { kept_before(&name[at..], parts) };
                drop_first(&mut text, &starts, kept);
                text.push(c);
                depth = match c {
                    '<' | '(' | '[' => depth.saturating_add(1),
                    '>' | ')' | ']' => depth.saturating_sub(1),
                    _ => depth,
                };
                starts = if matches!(c, '>' | ')' | ']') { Vec::new() } else { vec![text.len()] };
            }
        }
    }
    drop_first(&mut text, &starts, parts);
    text
}

/// How many parts of a path stay before `rest`.
fn kept_before(rest: &str, parts: usize) -> usize {
    match rest.strip_prefix(" (") {
        Some(what) if OF_THE_TYPE.iter().any(|of| what.starts_with(of)) => 1,
        Some(_) => 2,
        None if rest.starts_with('(') => parts,
        None => 1,
    }
}

/// Keeps the last `kept` parts of the path that ends here.
fn drop_first(text: &mut String, starts: &[usize], kept: usize) {
    let first = starts.len().checked_sub(kept).and_then(|at| starts.get(at));
    if let (Some(first), Some(begin)) = (first, starts.first()) {
        text.replace_range(begin..first, "");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types() {
        for (name, short) in [
            ("string", "string"),
            ("Demo.Order", "Order"),
            ("Demo.Order[]", "Order[]"),
            ("System.Collections.Generic.List<Demo.Order>", "List<Order>"),
            ("Dictionary<int, Demo.Sub.Order>.Entry[]", "Dictionary<int, Order>.Entry[]"),
            ("A.B<C.D<E.F>, G.H>.I.J", "B<D<F>, H>.I.J"),
            ("(A.B, C.D[])", "(B, D[])"),
            ("Demo.Orders.Load (async)", "Orders.Load (async)"),
            ("Demo.Orders (closure)", "Orders (closure)"),
            ("…Extensions.Order", "Order"),
            ("", ""),
            (".", ""),
            ("A.", ""),
            ("<", "<"),
            (">.A.B<", ">.A.B<"),
        ] {
            assert_eq!(type_name(name), short, "{name}");
        }
    }

    #[test]
    fn members() {
        for (name, short) in [
            ("Demo.Service._orders", "Service._orders"),
            ("Service._orders", "Service._orders"),
            ("_orders", "_orders"),
            ("Demo.Cache<Demo.Key>._items", "Cache<Key>._items"),
            ("Demo.Sub.Program.Main", "Program.Main"),
            ("Demo.Sub.Program.Main(System.String[])", "Program.Main(String[])"),
            ("Demo.Program (top-level statements)", "Program (top-level statements)"),
            ("Demo.Program.Main (lambda)", "Program.Main (lambda)"),
        ] {
            assert_eq!(member(name), short, "{name}");
        }
    }
}
