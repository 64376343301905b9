// Errors of the engine as errors of a store.
//
// Invariants
//   1. An error that is made here has no path: the store adds it where it throws the error to its caller
//      (`StoreError.withPath(_:_:)`).

public import EspalierEngine

extension StoreError: StorageFailure {
    /// Makes a store's error from an error of the engine.
    ///
    /// A call that runs beside `close` may be past the store's own test when the database closes.
    @usableFromInline
    package init(_ error: StorageError) {
        if case .database(.closed) = error { self = .closed } else { self = .storage(error, path: nil) }
    }
}

/// Runs a call of the engine and converts its error.
@inline(__always)
func withStoreErrors<Result: ~Copyable>(
    _ call: @autoclosure () throws(StorageError) -> Result
) throws(StoreError) -> Result {
    do { return try call() } catch { throw StoreError(error) }
}
