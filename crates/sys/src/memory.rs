//! Memory that may not be there: an error where std would end the program.

use std::io;

/// An empty vector with space for `count` values.
///
/// # Errors
/// `OutOfMemory`.
pub fn with_capacity<T>(count: usize) -> io::Result<Vec<T>> {
    let mut values = Vec::new();
    values.try_reserve_exact(count).map_err(|_| {
        let bytes = count.saturating_mul(size_of::<T>());
        io::Error::new(io::ErrorKind::OutOfMemory, format!("no memory for {bytes} bytes"))
    })?;
    Ok(values)
}

/// `count` copies of a value.
///
/// # Errors
/// `OutOfMemory`.
pub fn filled<T: Clone>(value: T, count: usize) -> io::Result<Vec<T>> {
    let mut values = with_capacity(count)?;
    values.resize(count, value);
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_the_address_space_is_an_error() {
        assert_eq!(with_capacity::<u64>(usize::MAX).unwrap_err().kind(), io::ErrorKind::OutOfMemory);
        assert_eq!(filled(1_u64, usize::MAX).unwrap_err().kind(), io::ErrorKind::OutOfMemory);
        assert_eq!(filled(7, 3).unwrap(), [7, 7, 7]);
    }
}
