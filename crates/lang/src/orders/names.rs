//! Names of atomic operations, and how many of their arguments are no orders.

use super::Style;

/// How many arguments of an operation of Fencepost's language are no orders.
pub(super) fn fencepost_operands(name: &str) -> Option<usize> {
    Some(match name {
        "load" | "fence" => 0,
        "store" => 1,
        "FADD" | "exchange" | "wait" => 2,
        "CAS" | "BCAS" | "weak_CAS" => 3,
        name if name.starts_with("fetch_") => 2,
        _ => return None,
    })
}

pub(super) fn c_operands(name: &str) -> Option<(usize, Style)> {
    let counted = |name: &str| {
        Some(match name {
            "thread_fence" => 0,
            "load" | "flag_test_and_set" | "flag_clear" => 1,
            "store" | "exchange" => 2,
            "compare_exchange_strong" | "compare_exchange_weak" => 3,
            name if name.starts_with("fetch_") => 2,
            _ => return None,
        })
    };
    if let Some(name) = name.strip_prefix("atomic_") {
        let plain = name.strip_suffix("_explicit").unwrap_or(name);
        return Some((counted(plain)?, Style::C));
    }
    // Clang's own, of which `<stdatomic.h>` is made.
    if let Some(name) = name.strip_prefix("__c11_atomic_") {
        return Some((counted(name)?, Style::Builtin));
    }
    let name = name.strip_prefix("__atomic_")?;
    let operands = match name {
        "thread_fence" => 0,
        "load_n" | "test_and_set" | "clear" => 1,
        "store_n" | "exchange_n" | "load" | "store" => 2,
        "exchange" => 3,
        "compare_exchange_n" | "compare_exchange" => 4,
        name if name.starts_with("fetch_") || name.ends_with("_fetch") => 2,
        _ => return None,
    };
    Some((operands, Style::Builtin))
}

pub(super) fn cpp_operands(name: &str) -> Option<usize> {
    Some(match name {
        "load" | "test_and_set" | "clear" | "test" => 0,
        "store" | "exchange" => 1,
        "compare_exchange_strong" | "compare_exchange_weak" => 2,
        name if name.starts_with("fetch_") => 1,
        _ => return None,
    })
}

pub(super) fn rust_operands(name: &str) -> Option<usize> {
    Some(match name {
        "load" | "fence" => 0,
        "store" | "swap" => 1,
        "compare_exchange" | "compare_exchange_weak" => 2,
        "fetch_update" => return None,
        name if name.starts_with("fetch_") => 1,
        _ => return None,
    })
}
