//! A value as a list of nodes that refer to each other by number.
use super::types::{ObjectType, type_of};
use crate::ffi::Error;
use crate::value::{Any, Tuple};
use std::collections::HashMap;

/// A value without the values in it.
pub(super) enum Node {
    /// One that holds no others, or does not say what it holds.
    Leaf(Any),
    /// A tuple of nodes.
    Tuple(Vec<usize>),
    /// An object that declares its fields: their names and nodes.
    Object(&'static ObjectType, Vec<(&'static str, usize)>),
}

/// The values in a node.
type Parts = Vec<(&'static str, Any)>;

enum Step {
    /// Makes the node of a value.
    Visit(Any),
    /// Makes the node of a value whose parts have their nodes now.
    Finish(Any, Option<&'static ObjectType>, Vec<&'static str>),
}

/// The nodes of a value, parts before wholes, the value itself last. An object that occurs several times is one node.
///
/// Fails if an object holds itself, which only objects of other makers can.
pub(super) fn nodes(root: &Any) -> Result<Vec<Node>, Error> {
    let mut nodes = Vec::new();
    // The node of an object, none as long as its parts are being made.
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
