//! The manifest as a tree of elements. Text and comments are left out: the manifest has its facts in attributes.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

/// Twice and more what the manifest has.
const MAX_DEPTH: usize = 32;

/// An element, without the prefix of its name.
#[derive(Debug, Default)]
pub(super) struct Element {
    pub(super) name: String,
    pub(super) attributes: BTreeMap<String, String>,
    pub(super) children: Vec<Element>,
}

impl Element {
    /// Reads a document. The result is an element without a name that holds the root.
    pub(super) fn parse(text: &str) -> Result<Element> {
        let mut reader = Reader::from_str(text);
        let mut open = vec![Element::default()];
        loop {
            let event = reader.read_event();
            let position = reader.error_position();
            match event.with_context(|| format!("the manifest is no XML at byte {position}"))? {
                Event::Start(tag) => {
                    ensure!(open.len() < MAX_DEPTH, "the manifest has more than {MAX_DEPTH} levels");
                    open.push(Element::of(&tag)?);
                }
                Event::Empty(tag) => add(&mut open, Element::of(&tag)?)?,
                Event::End(_) => {
                    let closed = open.pop().context("an end without a start")?;
                    add(&mut open, closed)?;
                }
                Event::Eof => break,
                _ => {}
            }
        }
        ensure!(open.len() == 1, "the manifest ends inside an element");
        open.pop().context("the manifest is empty")
    }

    fn of(tag: &BytesStart<'_>) -> Result<Element> {
        let name = String::from_utf8(tag.local_name().as_ref().to_vec())?;
        let mut element = Element { name, ..Element::default() };
        for attribute in tag.attributes() {
            let attribute = attribute.with_context(|| format!("an attribute of <{}>", element.name))?;
            let name = String::from_utf8(attribute.key.as_ref().to_vec())?;
            let value = attribute.normalized_value(XmlVersion::Implicit1_0)?.into_owned();
            element.attributes.insert(name, value);
        }
        Ok(element)
    }

    /// An attribute that the element must have.
    pub(super) fn required(&self, name: &str) -> Result<&str> {
        self.optional(name).with_context(|| format!("<{}> has no {name}: {:?}", self.name, self.attributes))
    }

    pub(super) fn optional(&self, name: &str) -> Option<&str> {
        self.attributes.get(name).map(String::as_str)
    }

    /// Fails if the element has an attribute that is not in the list: it may change what the others mean.
    pub(super) fn only(&self, known: &[&str]) -> Result<()> {
        match self.attributes.keys().find(|name| !known.contains(&name.as_str())) {
            Some(name) => bail!("<{}> has the unknown attribute {name}: {:?}", self.name, self.attributes),
            None => Ok(()),
        }
    }

    /// The elements at a path below this one.
    pub(super) fn at(&self, path: &[&str]) -> Vec<&Element> {
        path.iter().fold(vec![self], |elements, name| {
            let children = elements.into_iter().flat_map(|element| &element.children);
            children.filter(|child| child.name == *name).collect()
        })
    }
}

fn add(open: &mut [Element], child: Element) -> Result<()> {
    open.last_mut().context("an element after the end")?.children.push(child);
    Ok(())
}
