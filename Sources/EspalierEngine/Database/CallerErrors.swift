// Calls that run code of the caller which may throw errors of its own.
//
// The walks of the engine know no errors but the engine's. Code that throws ends a walk with an answer that the walk
// knows, and `carrying` throws its error afterwards: so a walk is compiled once, whatever its callers throw.
//
// Invariants
//   1. After code of the caller has thrown it is not called again, and nothing but its error leaves the call.
//   2. An error of the caller changes nothing: a write transaction goes on as after code that returned.

/// An error that a call throws which runs code of its caller: one of the engine, or one of the caller's own.
@usableFromInline
package protocol StorageFailure: Error {
    /// An error of the engine, as the caller throws it.
    init(_ error: StorageError)
}

/// What the caller's code has thrown.
///
/// By reference: `nil` is found out by one comparison. To find out that an optional enum with payloads is nothing to be
/// destroyed took 60 steps for each row.
@usableFromInline
final class ThrownError<Failure: Error> {
    @usableFromInline let error: Failure

    @inlinable
    init(_ error: Failure) { self.error = error }
}

/// Runs `call`, which leaves in its argument what code of the caller has thrown.
@inlinable @inline(__always)
func carrying<Result, Failure: StorageFailure>(
    _ call: (inout ThrownError<Failure>?) throws(StorageError) -> Result
) throws(Failure) -> Result {
    var thrown: ThrownError<Failure>?
    let result: Result
    do throws(StorageError) { result = try call(&thrown) } catch { throw Failure(error) }
    if let thrown { throw thrown.error }
    return result
}

extension ReadTransaction {
    /// Calls `body` with the bytes of the value of `key` where they lie, if the key exists.
    @inlinable
    package func withValue<R, Failure: StorageFailure>(
        of key: UInt64, in tree: Tree<UInt64>, _ body: (RawSpan) throws(Failure) -> R
    ) throws(Failure) -> R? {
        var result: R?
        try carrying { (thrown: inout ThrownError<Failure>?) throws(StorageError) in
            try visitValue(of: key, in: tree) { value in
                do throws(Failure) { result = try body(value) } catch { thrown = ThrownError(error) }
            }
        }
        return result
    }
}

extension WriteTransaction {
    /// Calls `body` with the bytes of the value of `key` where they lie, if the key exists.
    @inlinable
    package func withValue<R, Failure: StorageFailure>(
        of key: UInt64, in tree: Tree<UInt64>, _ body: (RawSpan) throws(Failure) -> R
    ) throws(Failure) -> R? {
        var result: R?
        try carrying { (thrown: inout ThrownError<Failure>?) throws(StorageError) in
            try visitValue(of: key, in: tree) { value in
                do throws(Failure) { result = try body(value) } catch { thrown = ThrownError(error) }
            }
        }
        return result
    }

    /// Calls `body` with the bytes of the value of `key`, to be changed where they lie; returns whether the key exists.
    @inlinable
    package mutating func withMutableValue<Failure: StorageFailure>(
        of key: UInt64, in tree: Tree<UInt64>, _ body: (inout MutableRawSpan) throws(Failure) -> Void
    ) throws(Failure) -> Bool {
        try carrying { (thrown: inout ThrownError<Failure>?) throws(StorageError) in
            try withMutableValue(of: key, in: tree) { value in
                do throws(Failure) { try body(&value) } catch { thrown = ThrownError(error) }
            }
        }
    }
}

extension Lookup where Key == UInt64 {
    /// Calls `body` with the value of `key` where it lies; returns whether the key exists.
    @inlinable @inline(__always)
    package mutating func withValue<Failure: StorageFailure>(
        of key: UInt64, _ body: (RawSpan) throws(Failure) -> Void
    ) throws(Failure) -> Bool {
        try carrying { (thrown: inout ThrownError<Failure>?) throws(StorageError) in
            try withValue(of: key) { value in
                do throws(Failure) { try body(value) } catch { thrown = ThrownError(error) }
            }
        }
    }
}

extension Lookup where Key == [UInt8] {
    /// Calls `body` with keys and values, where they lie and from `key` on, until it returns `false`.
    @inlinable @inline(__always)
    package mutating func forEachEntry<Failure: StorageFailure>(
        from key: RawSpan, _ body: (_ key: RawSpan, _ value: RawSpan) throws(Failure) -> Bool
    ) throws(Failure) {
        try carrying { (thrown: inout ThrownError<Failure>?) throws(StorageError) in
            try forEachEntry(from: key) { key, value in
                do throws(Failure) { return try body(key, value) } catch { thrown = ThrownError(error) }
                return false
            }
        }
    }
}

extension Lookup where Key == [UInt8] {
    /// Passes whole leaves from `key` on as long as `passing` says so, and then calls `body` with keys and values where
    /// they lie, until it returns `false`.
    @inlinable @inline(__always)
    package mutating func forEachEntry<Failure: StorageFailure>(
        from key: RawSpan, passing: (_ count: Int, _ lastKey: RawSpan, _ lastValue: RawSpan) -> Bool,
        _ body: (_ key: RawSpan, _ value: RawSpan) throws(Failure) -> Bool
    ) throws(Failure) {
        try carrying { (thrown: inout ThrownError<Failure>?) throws(StorageError) in
            try forEachEntry(from: key, passing: passing) { key, value in
                do throws(Failure) { return try body(key, value) } catch { thrown = ThrownError(error) }
                return false
            }
        }
    }
}

extension Cursor {
    /// Calls `body` with the value's bytes, where they lie if the value is in a leaf.
    @inlinable
    package func withValue<Failure: StorageFailure>(_ body: (RawSpan) throws(Failure) -> Void) throws(Failure) {
        try carrying { (thrown: inout ThrownError<Failure>?) throws(StorageError) in
            try withValue { value in
                do throws(Failure) { try body(value) } catch { thrown = ThrownError(error) }
            }
        }
    }

    /// Calls `body` with the key's and the value's bytes, where they lie if they are in a leaf.
    @inlinable
    package func withEntry<Failure: StorageFailure>(
        _ body: (_ key: RawSpan, _ value: RawSpan) throws(Failure) -> Void
    ) throws(Failure) {
        try carrying { (thrown: inout ThrownError<Failure>?) throws(StorageError) in
            try withEntry { key, value in
                do throws(Failure) { try body(key, value) } catch { thrown = ThrownError(error) }
            }
        }
    }
}

extension Cursor where Key == UInt64 {
    /// Calls `body` with keys and values, from the entry of the cursor on and where they lie, until it returns `false`.
    @inlinable @inline(__always)
    package mutating func forEachValue<Failure: StorageFailure>(
        _ body: (_ key: UInt64, _ value: RawSpan) throws(Failure) -> Bool
    ) throws(Failure) {
        try carrying { (thrown: inout ThrownError<Failure>?) throws(StorageError) in
            try forEachValue { key, value in
                do throws(Failure) { return try body(key, value) } catch { thrown = ThrownError(error) }
                return false
            }
        }
    }
}
