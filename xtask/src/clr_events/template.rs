//! The fields of an event: `Name:type`, `Name[count]:type` and `Name[count]:{...}`.

use anyhow::{Context, Result, bail, ensure};

use super::element::Element;
use super::words::{number, word};

/// Structs do not nest deeper than one level in what is known of the manifest.
const MAX_DEPTH: usize = 4;

/// The fields of a template, with a space before each.
pub(super) fn fields(template: &Element) -> Result<String> {
    let name = template.required("tid")?;
    let fields = list(&template.children, &mut Vec::new(), MAX_DEPTH);
    let fields = fields.with_context(|| format!("template {name}"))?;
    Ok(fields.iter().map(|field| format!(" {field}")).collect())
}

/// The fields of a template or of a struct. A count or a length is a field before it: `numbers` has those.
fn list<'m>(elements: &'m [Element], numbers: &mut Vec<&'m str>, depth: usize) -> Result<Vec<String>> {
    let depth = depth.checked_sub(1).context("structs nest too deep")?;
    let mut fields = Vec::new();
    for element in elements {
        match element.name.as_str() {
            "data" => fields.push(data(element, numbers)?),
            "struct" => {
                element.only(&["name", "count"])?;
                let outside = numbers.len();
                let inner = list(&element.children, numbers, depth)?.join(" ");
                numbers.truncate(outside);
                let count = times(element, "count", numbers)?;
                fields.push(format!("{}{count}:{{{inner}}}", word(element.required("name")?)?));
            }
            // It says how to show the fields as XML.
            "UserData" => {}
            other => bail!("unknown element <{other}>"),
        }
    }
    Ok(fields)
}

fn data<'m>(element: &'m Element, numbers: &mut Vec<&'m str>) -> Result<String> {
    element.only(&["name", "inType", "outType", "map", "count", "length"])?;
    let name = word(element.required("name")?)?;
    let kind = kind(element.required("inType")?).with_context(|| format!("field {name}"))?;
    let (count, length) = (times(element, "count", numbers)?, times(element, "length", numbers)?);
    // Bytes of a known length are the only field that has one.
    let is_valid = if kind == "bytes" { count.is_empty() && !length.is_empty() } else { length.is_empty() };
    ensure!(is_valid, "field {name}: {kind} cannot have this count and length: {:?}", element.attributes);
    if count.is_empty() && matches!(kind, "u8" | "u16" | "u32" | "u64") {
        numbers.push(name);
    }
    Ok(format!("{name}{count}{length}:{kind}"))
}

/// A count or a length in brackets: a number, or the field that has it. Nothing if there is none, or if it is 1.
fn times(element: &Element, attribute: &str, numbers: &[&str]) -> Result<String> {
    match element.optional(attribute) {
        None => Ok(String::new()),
        Some("1") if attribute == "count" => Ok(String::new()),
        Some(field) if numbers.contains(&field) => Ok(format!("[{field}]")),
        Some(digits) => {
            let number = number(digits).with_context(|| format!("no number before it is {digits}"))?;
            Ok(format!("[{number}]"))
        }
    }
}

fn kind(in_type: &str) -> Result<&'static str> {
    Ok(match in_type {
        "win:Boolean" => "bool",
        "win:UInt8" => "u8",
        "win:Int8" => "i8",
        "win:UInt16" => "u16",
        "win:Int16" => "i16",
        "win:UInt32" | "win:HexInt32" => "u32",
        "win:Int32" => "i32",
        "win:UInt64" | "win:HexInt64" => "u64",
        "win:Int64" => "i64",
        "win:Float" => "f32",
        "win:Double" => "f64",
        "win:Pointer" => "ptr",
        "win:GUID" => "guid",
        "win:UnicodeString" => "utf16",
        "win:AnsiString" => "utf8",
        "win:Binary" => "bytes",
        other => bail!("unknown type {other}"),
    })
}
