// Calls that run closures of the caller, which may throw errors of the caller's own types.
//
// The walks of the engine throw only errors of the engine. A closure that throws ends a walk with a normal answer, and
// `withCallerErrors` throws the closure's error afterwards: so a walk is compiled once, for all error types of callers.
//
// Invariants
//   1. After a closure of the caller has thrown, it is not called again, and the call throws only its error.
//   2. An error of the caller changes nothing: a write transaction continues as after a closure that returned.

/// An error of a call that runs a closure of its caller: one of the engine, or one of the caller's own.
@usableFromInline
package protocol StorageFailure: Error {
    /// Makes the caller's form of an error of the engine.
    init(_ error: StorageError)
}

/// The error that the caller's closure has thrown.
///
/// A class, so that one comparison finds `nil`: see Decisions, "Errors of callers".
@usableFromInline
final class ThrownError<Failure: Error> {
    @usableFromInline let error: Failure

    @inlinable
    init(_ error: Failure) { self.error = error }
}

/// Runs `call`, which stores the error of the caller's closure in its argument; then throws that error.
@inlinable @inline(__always)
func withCallerErrors<Result, Failure: StorageFailure>(
    _ call: (inout ThrownError<Failure>?) throws(StorageError) -> Result
) throws(Failure) -> Result {
    var thrown: ThrownError<Failure>?
    let result: Result
    do throws(StorageError) { result = try call(&thrown) } catch { throw Failure(error) }
    if let thrown { throw thrown.error }
    return result
}

/// A transaction that reads values.
@usableFromInline
package protocol ValueReading: ~Copyable {
    /// Calls `body` with the bytes of the value of `key`, if the key exists.
    func visitValue(of key: UInt64, in tree: Tree<UInt64>, _ body: (RawSpan) -> Void) throws(StorageError)
}

extension ReadTransaction: ValueReading {}
extension WriteTransaction: ValueReading {}

extension ValueReading where Self: ~Copyable {
    /// Calls `body` with the bytes of the value of `key`, in place if they are in a leaf; `nil` if the key is absent.
    @inlinable
    package func withValue<R, Failure: StorageFailure>(
        of key: UInt64, in tree: Tree<UInt64>, _ body: (RawSpan) throws(Failure) -> R
    ) throws(Failure) -> R? {
        var result: R?
        try withCallerErrors { (thrown: inout ThrownError<Failure>?) throws(StorageError) in
            try visitValue(of: key, in: tree) { value in
                do throws(Failure) { result = try body(value) } catch { thrown = ThrownError(error) }
            }
        }
        return result
    }
}

extension WriteTransaction {
    /// Calls `body` with the bytes of the value of `key`, which it may change in place; returns whether the key exists.
    @inlinable
    package mutating func withMutableValue<Failure: StorageFailure>(
        of key: UInt64, in tree: Tree<UInt64>, _ body: (inout MutableRawSpan) throws(Failure) -> Void
    ) throws(Failure) -> Bool {
        try withCallerErrors { (thrown: inout ThrownError<Failure>?) throws(StorageError) in
            try withMutableValue(of: key, in: tree) { value in
                do throws(Failure) { try body(&value) } catch { thrown = ThrownError(error) }
            }
        }
    }

    /// Calls `body` with the value of each of `keys` that exists, which it may change in place, until it returns
    /// `false`.
    ///
    /// - Parameters:
    ///   - keys: each greater than the one before.
    ///   - body: gets the position of the key in `keys`, too.
    /// - Complexity: O(log n) for each leaf with some of the keys, and for each value that does not fit into a leaf.
    @inlinable
    package mutating func withMutableValues<Failure: StorageFailure>(
        of keys: [UInt64], in tree: Tree<UInt64>,
        _ body: (_ position: Int, _ value: inout MutableRawSpan) throws(Failure) -> Bool
    ) throws(Failure) {
        try withCallerErrors { (thrown: inout ThrownError<Failure>?) throws(StorageError) in
            try changeValues(of: keys, in: tree) { position, value in
                do throws(Failure) { return try body(position, &value) } catch { thrown = ThrownError(error) }
                return false
            }
        }
    }

    /// `withMutableValues` for one type: callers in other modules specialize only the wrapper.
    @usableFromInline
    mutating func changeValues(
        of keys: [UInt64], in tree: Tree<UInt64>, _ body: (_ position: Int, _ value: inout MutableRawSpan) -> Bool
    ) throws(StorageError) {
        try change(tree) { operations, record throws(StorageError) in
            try operations.changeValues(of: keys, in: &record, body)
        }
    }
}

extension Lookup where Key == UInt64 {
    /// Calls `body` with the value of `key`, in place if it is in a leaf; returns whether the key exists.
    @inlinable @inline(__always)
    package mutating func withValue<Failure: StorageFailure>(
        of key: UInt64, _ body: (RawSpan) throws(Failure) -> Void
    ) throws(Failure) -> Bool {
        try withCallerErrors { (thrown: inout ThrownError<Failure>?) throws(StorageError) in
            try withValue(of: key) { value in
                do throws(Failure) { try body(value) } catch { thrown = ThrownError(error) }
            }
        }
    }

    /// Calls `body` with the part of the value of `key` that is in one page, and with the byte count of the value;
    /// returns whether the key exists.
    @inlinable @inline(__always)
    package mutating func withBeginning<Failure: StorageFailure>(
        of key: UInt64, _ body: (_ beginning: RawSpan, _ byteCount: Int) throws(Failure) -> Void
    ) throws(Failure) -> Bool {
        try withCallerErrors { (thrown: inout ThrownError<Failure>?) throws(StorageError) in
            try withBeginning(of: key) { beginning, byteCount in
                do throws(Failure) { try body(beginning, byteCount) } catch { thrown = ThrownError(error) }
            }
        }
    }
}

extension Lookup where Key == [UInt8] {
    /// Calls `body` with the entries from `key` on, in place if they are in a leaf, until it returns `false`.
    @inlinable @inline(__always)
    package mutating func forEachEntry<Failure: StorageFailure>(
        from key: RawSpan, _ body: (_ key: RawSpan, _ value: RawSpan) throws(Failure) -> Bool
    ) throws(Failure) {
        try withCallerErrors { (thrown: inout ThrownError<Failure>?) throws(StorageError) in
            try forEachEntry(from: key) { key, value in
                do throws(Failure) { return try body(key, value) } catch { thrown = ThrownError(error) }
                return false
            }
        }
    }
}

extension Lookup where Key == [UInt8] {
    /// Skips whole leaves from `key` on as long as `skipping` returns `true`, then calls `body` with the other entries,
    /// in place if they are in a leaf, until it returns `false`.
    @inlinable @inline(__always)
    package mutating func forEachEntry<Failure: StorageFailure>(
        from key: RawSpan, skipping: (_ count: Int, _ lastKey: RawSpan, _ lastValue: RawSpan) -> Bool,
        _ body: (_ key: RawSpan, _ value: RawSpan) throws(Failure) -> Bool
    ) throws(Failure) {
        try withCallerErrors { (thrown: inout ThrownError<Failure>?) throws(StorageError) in
            try forEachEntry(from: key, skipping: skipping) { key, value in
                do throws(Failure) { return try body(key, value) } catch { thrown = ThrownError(error) }
                return false
            }
        }
    }
}

extension Cursor {
    /// Calls `body` with the value's bytes, in place if they are in a leaf.
    @inlinable
    package func withValue<Failure: StorageFailure>(_ body: (RawSpan) throws(Failure) -> Void) throws(Failure) {
        try withCallerErrors { (thrown: inout ThrownError<Failure>?) throws(StorageError) in
            try withValue { value in
                do throws(Failure) { try body(value) } catch { thrown = ThrownError(error) }
            }
        }
    }

    /// Calls `body` with the key's and the value's bytes, in place if they are in a leaf.
    @inlinable
    package func withEntry<Failure: StorageFailure>(
        _ body: (_ key: RawSpan, _ value: RawSpan) throws(Failure) -> Void
    ) throws(Failure) {
        try withCallerErrors { (thrown: inout ThrownError<Failure>?) throws(StorageError) in
            try withEntry { key, value in
                do throws(Failure) { try body(key, value) } catch { thrown = ThrownError(error) }
            }
        }
    }
}

extension Cursor where Key == UInt64 {
    /// Calls `body` with the entries from the cursor's on, in place if they are in a leaf, until it returns `false`.
    @inlinable @inline(__always)
    package mutating func forEachValue<Failure: StorageFailure>(
        _ body: (_ key: UInt64, _ value: RawSpan) throws(Failure) -> Bool
    ) throws(Failure) {
        try withCallerErrors { (thrown: inout ThrownError<Failure>?) throws(StorageError) in
            try forEachValue { key, value in
                do throws(Failure) { return try body(key, value) } catch { thrown = ThrownError(error) }
                return false
            }
        }
    }

    /// Calls `body` with the parts of the values that are in one page, and with the byte counts of the values, from the
    /// cursor's entry on, until it returns `false`.
    @inlinable @inline(__always)
    package mutating func forEachBeginning<Failure: StorageFailure>(
        _ body: (_ key: UInt64, _ beginning: RawSpan, _ byteCount: Int) throws(Failure) -> Bool
    ) throws(Failure) {
        try withCallerErrors { (thrown: inout ThrownError<Failure>?) throws(StorageError) in
            try forEachBeginning { key, beginning, byteCount in
                do throws(Failure) { return try body(key, beginning, byteCount) } catch { thrown = ThrownError(error) }
                return false
            }
        }
    }
}
