//! What names and types tell without a type checker: which values are surely no data of a device, and which calls surely
//! launch nothing. Where these tables do not know, a call is a launch and a value is data; both cost host time only.

use syn::{GenericArgument, Ident, Path, PathArguments, Type};

/// Types that hold no data of a device.
const HOST_TYPES: &[&str] = &[
    "CoreLimit",
    "DType",
    "Device",
    "Duration",
    "Event",
    "Instant",
    "NonZero",
    "Range",
    "RangeInclusive",
    "Stream",
    "String",
    "bool",
    "char",
    "f32",
    "f64",
    "i128",
    "i16",
    "i32",
    "i64",
    "i8",
    "isize",
    "str",
    "u128",
    "u16",
    "u32",
    "u64",
    "u8",
    "usize",
];

/// Types that hold what their arguments hold.
const WRAPPERS: &[&str] = &["Arc", "Box", "Option", "Rc", "Vec"];

/// Methods that describe a value and give host data.
const DESCRIBING: &[&str] = &[
    "capacity", "dims", "dtype", "is_empty", "is_err", "is_none", "is_ok", "is_some", "len", "ndim", "numel", "rank",
    "shape",
];

/// Methods that hand on what they are called on, or an element of it.
const HANDING_ON: &[&str] = &[
    "as_deref",
    "as_deref_mut",
    "as_mut",
    "as_mut_slice",
    "as_ref",
    "as_slice",
    "borrow",
    "borrow_mut",
    "chunks",
    "chunks_exact",
    "chunks_mut",
    "clone",
    "cloned",
    "copied",
    "enumerate",
    "expect",
    "first",
    "first_mut",
    "get",
    "get_mut",
    "into_iter",
    "iter",
    "iter_mut",
    "last",
    "last_mut",
    "ok",
    "reshape",
    "rev",
    "skip",
    "step_by",
    "take",
    "to_owned",
    "unwrap",
    "windows",
    "zip",
];

/// Methods that give a value which shares memory with what they are called on.
const CLONING: &[&str] = &["clone", "cloned", "copied", "reshape", "to_owned"];

/// Methods that give the value itself.
const TAKING: &[&str] = &["expect", "into_iter", "ok", "take", "unwrap"];

/// Methods that put their arguments into what they are called on.
const STORING: &[&str] = &["append", "extend", "insert", "push", "push_back", "push_front", "replace", "set"];

/// Methods after which an iterator has done its work.
const CONSUMING: &[&str] =
    &["all", "any", "collect", "count", "find", "fold", "for_each", "max", "min", "next", "product", "sum"];

/// Functions that hand on their argument.
const WRAPPING: &[&str] = &["Arc::new", "Box::new", "Err", "Ok", "Rc::new", "Some", "Vec::from"];

/// Functions that make an empty collection.
const EMPTY: &[&str] =
    &["BTreeMap::new", "HashMap::new", "String::new", "Vec::new", "Vec::with_capacity", "VecDeque::new"];

/// Macros that never return.
const DIVERGING: &[&str] = &["panic", "todo", "unimplemented", "unreachable"];

pub(crate) fn is_host_type(ty: &Type) -> bool {
    match ty {
        Type::Path(path) if path.qself.is_none() => path.path.segments.last().is_some_and(|last| {
            let arguments = || match &last.arguments {
                PathArguments::AngleBracketed(list) => {
                    list.args.iter().all(|a| !matches!(a, GenericArgument::Type(t) if !is_host_type(t)))
                }
                _ => false,
            };
            let name = last.ident.to_string();
            is_one_of(&name, HOST_TYPES) || is_one_of(&name, WRAPPERS) && arguments()
        }),
        Type::Reference(reference) => is_host_type(&reference.elem),
        Type::Slice(slice) => is_host_type(&slice.elem),
        Type::Array(array) => is_host_type(&array.elem),
        Type::Tuple(tuple) => tuple.elems.iter().all(is_host_type),
        Type::Paren(paren) => is_host_type(&paren.elem),
        Type::Group(group) => is_host_type(&group.elem),
        _ => false,
    }
}

/// Is the name on a list? The lists are sorted: an identifier is compared with text by printing it, and a function of a
/// hundred blocks has hundreds of them.
fn is_one_of(name: &str, list: &[&str]) -> bool {
    list.binary_search(&name).is_ok()
}

/// A constant or a variant rather than a variable: `None`, `LIMIT`.
pub(crate) fn is_constant(name: &Ident) -> bool {
    name.to_string().starts_with(char::is_uppercase)
}

/// What the name of a method tells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Method {
    /// Describes what it is called on, and gives host data.
    pub(crate) describes: bool,
    /// Hands on what it is called on, or an element of it.
    pub(crate) hands_on: bool,
    /// What it returns may borrow mutably from what it is called on.
    pub(crate) lends_mutably: bool,
    /// Gives a value that shares memory with what it is called on.
    pub(crate) clones: bool,
    /// Gives the value itself.
    pub(crate) takes: bool,
    /// After it, an iterator has done its work.
    pub(crate) consumes: bool,
    /// Puts its arguments into what it is called on.
    pub(crate) stores: bool,
    /// Gives pairs of an index and an element.
    pub(crate) indexes: bool,
}

pub(crate) fn method(name: &Ident) -> Method {
    let name = &*name.to_string();
    Method {
        describes: is_one_of(name, DESCRIBING),
        hands_on: is_one_of(name, HANDING_ON),
        lends_mutably: name.split('_').any(|word| word == "mut") || name == "drain" || name == "entry",
        clones: is_one_of(name, CLONING),
        takes: is_one_of(name, TAKING),
        consumes: is_one_of(name, CONSUMING),
        stores: is_one_of(name, STORING),
        indexes: name == "enumerate",
    }
}

/// What a called path is known to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Callee {
    /// Launches something, perhaps.
    Unknown,
    /// The value holds the arguments: a constructor.
    Wraps,
    /// Gives a value without any data.
    Empty,
    /// Ends its argument.
    Drops,
}

pub(crate) fn callee(path: &Path) -> Callee {
    let Some(last) = path.segments.last() else { return Callee::Unknown };
    let name = last.ident.to_string();
    let before = path.segments.len().checked_sub(2).map(|at| &path.segments[at].ident);
    let qualified = before.map(|before| format!("{before}::{name}"));
    let is = |list: &[&str]| is_one_of(&name, list) || qualified.as_ref().is_some_and(|name| is_one_of(name, list));
    if is(EMPTY) {
        Callee::Empty
    } else if is(WRAPPING) || name.starts_with(char::is_uppercase) {
        Callee::Wraps
    } else if name == "drop" {
        Callee::Drops
    } else {
        Callee::Unknown
    }
}

pub(crate) fn diverges(path: &Path) -> bool {
    path.segments.last().is_some_and(|last| is_one_of(&last.ident.to_string(), DIVERGING))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted() {
        for list in [
            HOST_TYPES, WRAPPERS, DESCRIBING, HANDING_ON, CLONING, TAKING, STORING, CONSUMING, WRAPPING, EMPTY,
            DIVERGING,
        ] {
            assert!(list.is_sorted(), "{list:?}");
        }
    }
}
