//! Names of types as dotnet-gcdump writes them.

/// The name in C#. dotnet-gcdump removes the counts of type parameters and makes `<` of `[`, then `[]` of `<>`; so an array
/// of two dimensions is `T<,>`, and a class that the compiler named `<>c` is `[]c`. Nested types keep the runtime's `+`.
pub(super) fn as_in_csharp(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(next) = rest.chars().next() {
        let (taken, written) = match next {
            '+' => (1, "."),
            ',' if rest.starts_with(", ") => (2, ", "),
            ',' => (1, ", "),
            '[' if is_of_compiler(rest) => (2, "<>"),
            '<' | '[' if let Some(commas) = dimensions(rest) => {
                out.push('[');
                out.push_str(commas);
                (commas.len() + 2, "]")
            }
            other => (other.len_utf8(), rest.get(..other.len_utf8()).unwrap_or_default()),
        };
        out.push_str(written);
        rest = rest.get(taken..).unwrap_or_default();
    }
    out
}

/// Whether a text begins with brackets that a name follows: behind those of an array there is none.
fn is_of_compiler(text: &str) -> bool {
    let behind = text.strip_prefix("[]").and_then(|behind| behind.chars().next());
    behind.is_some_and(|next| next.is_alphanumeric() || next == '_')
}

/// The commas of `<,>` or `[,]`.
fn dimensions(text: &str) -> Option<&str> {
    let (commas, _) = text.strip_prefix(['<', '['])?.split_once(['>', ']'])?;
    (!commas.is_empty() && commas.bytes().all(|byte| byte == b',')).then_some(commas)
}

#[cfg(test)]
mod tests {
    use super::as_in_csharp;

    #[test]
    fn what_was_replaced_comes_back() {
        for (name, expected) in [
            ("System.String", "System.String"),
            ("Dictionary<System.Int32,Known.Node>[]", "Dictionary<System.Int32, Known.Node>[]"),
            ("List<A, B>", "List<A, B>"),
            ("System.String<,,>", "System.String[,,]"),
            ("System.String[,][]", "System.String[,][]"),
            ("[]c__DisplayClass3_0", "<>c__DisplayClass3_0"),
            ("Outer+[]c", "Outer.<>c"),
            ("List<A[],B[]>", "List<A[], B[]>"),
            ("[RCW A+é]", "[RCW A.é]"),
            ("a<", "a<"),
        ] {
            assert_eq!(as_in_csharp(name), expected, "{name}");
        }
    }
}
