//! What names and types tell without a type checker: which values are surely no data of a device, and which calls surely
//! launch nothing. Where these tables do not know, a call is a launch and a value is data; both cost host time only.

use syn::{GenericArgument, Ident, Path, PathArguments, Type};

/// Types that hold no data of a device.
const HOST_TYPES: &[&str] = &[
    "bool",
    "char",
    "str",
    "String",
    "f32",
    "f64",
    "i8",
    "i16",
    "i32",
    "i64",
    "i128",
    "isize",
    "u8",
    "u16",
    "u32",
    "u64",
    "u128",
    "usize",
    "NonZero",
    "Range",
    "RangeInclusive",
    "Duration",
    "Instant",
    "Stream",
    "Device",
    "Event",
    "CoreLimit",
    "DType",
];

/// Types that hold what their arguments hold.
const WRAPPERS: &[&str] = &["Option", "Vec", "Box", "Arc", "Rc"];

/// Methods that describe a value and give host data.
const DESCRIBING: &[&str] = &[
    "len", "is_empty", "shape", "dims", "rank", "ndim", "dtype", "numel", "capacity", "is_some", "is_none", "is_ok",
    "is_err",
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

/// Methods that put their arguments into what they are called on.
const STORING: &[&str] = &["append", "extend", "insert", "push", "push_back", "push_front", "replace", "set"];

/// Methods after which an iterator has done its work.
const CONSUMING: &[&str] =
    &["collect", "count", "sum", "product", "fold", "for_each", "max", "min", "any", "all", "find", "next"];

/// Functions that hand on their argument.
const WRAPPING: &[&str] = &["Ok", "Some", "Err", "Box::new", "Arc::new", "Rc::new", "Vec::from"];

/// Functions that make an empty collection.
const EMPTY: &[&str] =
    &["Vec::new", "Vec::with_capacity", "String::new", "HashMap::new", "BTreeMap::new", "VecDeque::new"];

/// Macros that never return.
const DIVERGING: &[&str] = &["panic", "unreachable", "todo", "unimplemented"];

pub(crate) fn is_host_type(ty: &Type) -> bool {
    match ty {
        Type::Path(path) if path.qself.is_none() => path.path.segments.last().is_some_and(|last| {
            let arguments = || match &last.arguments {
                PathArguments::AngleBracketed(list) => {
                    list.args.iter().all(|a| !matches!(a, GenericArgument::Type(t) if !is_host_type(t)))
                }
                _ => false,
            };
            is_one_of(&last.ident, HOST_TYPES) || is_one_of(&last.ident, WRAPPERS) && arguments()
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

fn is_one_of(name: &Ident, list: &[&str]) -> bool {
    list.iter().any(|known| name == known)
}

/// A constant or a variant rather than a variable: `None`, `LIMIT`.
pub(crate) fn is_constant(name: &Ident) -> bool {
    name.to_string().starts_with(char::is_uppercase)
}

pub(crate) fn describes(method: &Ident) -> bool {
    is_one_of(method, DESCRIBING)
}

pub(crate) fn hands_on(method: &Ident) -> bool {
    is_one_of(method, HANDING_ON)
}

/// May what the method returns borrow mutably from what it is called on?
pub(crate) fn lends_mutably(method: &Ident) -> bool {
    let name = method.to_string();
    name.split('_').any(|word| word == "mut") || name == "drain" || name == "entry"
}

pub(crate) fn stores(method: &Ident) -> bool {
    is_one_of(method, STORING)
}

pub(crate) fn consumes(method: &Ident) -> bool {
    is_one_of(method, CONSUMING)
}

/// Does the method give a value that shares memory with what it is called on?
pub(crate) fn clones(method: &Ident) -> bool {
    is_one_of(method, &["clone", "cloned", "copied", "reshape", "to_owned"])
}

/// Does the method give the value itself?
pub(crate) fn takes(method: &Ident) -> bool {
    is_one_of(method, &["into_iter", "unwrap", "expect", "ok", "take"])
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
    let before = path.segments.len().checked_sub(2).map(|at| &path.segments[at].ident);
    let is = |list: &[&str]| {
        list.iter().any(|known| match known.split_once("::") {
            Some((ty, function)) => before.is_some_and(|before| before == ty) && last.ident == function,
            None => last.ident == known,
        })
    };
    if is(EMPTY) {
        Callee::Empty
    } else if is(WRAPPING) || is_constant(&last.ident) {
        Callee::Wraps
    } else if last.ident == "drop" {
        Callee::Drops
    } else {
        Callee::Unknown
    }
}

pub(crate) fn diverges(path: &Path) -> bool {
    path.segments.last().is_some_and(|last| is_one_of(&last.ident, DIVERGING))
}
