//! Names, as JSON.

use serde::{Deserialize, Serialize};

/// Names of classes, fields, methods and static fields. A file may have several.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Names {
    /// Classes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ClassName>,
    /// Methods that have stack roots.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub methods: Vec<MethodName>,
    /// Static fields.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub statics: Vec<StaticName>,
}

/// The name of a class.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassName {
    /// Index of the class in the file.
    pub index: u32,
    /// Its full name, as in C#.
    pub name: String,
    /// The name of its module.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// Its own fields without those of its base classes: the offset from the start of the object in bytes, and the name.
    /// For a value type the offset from the start of the value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<(u32, String)>,
}

/// The name of a method.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MethodName {
    /// The runtime's identifier, as in [`RootRecord::id`](super::RootRecord::id).
    pub id: u64,
    /// Its full name.
    pub name: String,
}

/// The name of a static field.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StaticName {
    /// The address of the reference, which may be in an object.
    pub slot: u64,
    /// Its full name.
    pub name: String,
    /// Whether each thread has one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub thread: bool,
}
