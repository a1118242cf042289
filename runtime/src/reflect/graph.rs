//! A value as a flat list of nodes that refer to each other by index.
use super::types::{ObjectType, type_of};
use crate::ffi::Error;
use crate::value::{Any, Tuple};
use std::collections::HashMap;

/// A value whose parts are references to other nodes.
pub(super) enum Node {
    /// A value without parts, or one that does not declare them.
    Leaf(Any),
    /// A tuple of nodes.
    Tuple(Vec<usize>),
    /// An object with declared fields: their names and nodes.
    Object(&'static ObjectType, Vec<(&'static str, usize)>),
}

/// Named parts of a value.
type Parts = Vec<(&'static str, Any)>;

enum Step {
    /// Visits the parts of a value.
    Visit(Any),
    /// Creates the node of a value whose parts have nodes.
    Finish(Any, Option<&'static ObjectType>, Vec<&'static str>),
}

/// The nodes of a value in post-order; the value itself is last. An object that occurs several times is one node.
///
/// Fails if an object contains itself, which only objects created by other code can.
pub(super) fn nodes(root: &Any) -> Result<Vec<Node>, Error> {
    let mut nodes = Vec::new();
    // The node of each object; none while its parts are visited.
    let mut seen: HashMap<usize, Option<usize>> = HashMap::new();
    let mut done = Vec::new();
    let mut steps = vec![Step::Visit(root.clone())];
    while let Some(step) = steps.pop() {
        match step {
            Step::Visit(value) => match value.address().and_then(|address| seen.get(&address)) {
                Some(Some(node)) => done.push(*node),
                Some(None) => return Err(Error::value(format!("{value} contains itself"))),
                None => {
                    let (ty, parts) = parts_of(&value);
                    if let Some(address) = value.address() {
                        seen.insert(address, None);
                    }
                    let names = parts.iter().map(|(name, _)| *name).collect();
                    steps.push(Step::Finish(value, ty, names));
                    steps.extend(parts.into_iter().rev().map(|(_, part)| Step::Visit(part)));
                }
            },
            Step::Finish(value, ty, names) => {
                if let Some(address) = value.address() {
                    seen.insert(address, Some(nodes.len()));
                }
                let parts = done.split_off(done.len() - names.len());
                done.push(nodes.len());
                nodes.push(match ty {
                    Some(ty) => Node::Object(ty, names.into_iter().zip(parts).collect()),
                    None if value.get::<&Tuple>().is_some() => Node::Tuple(parts),
                    None => Node::Leaf(value),
                });
            }
        }
    }
    Ok(nodes)
}

fn parts_of(value: &Any) -> (Option<&'static ObjectType>, Parts) {
    if let Some(tuple) = value.get::<&Tuple>() {
        return (None, tuple.iter().map(|field| ("", field.clone())).collect());
    }
    let ty = type_of(value);
    (ty, ty.map(|ty| (ty.fields)(value)).unwrap_or_default())
}
