// The stores of this package, whose answers need no check.

/// A store that keeps the contract, or checks the source that it asks.
package protocol BuiltInStore: PersistentStore {}

/// A snapshot of such a store, to which a store of an application may pass questions on.
package protocol BuiltInSnapshot: StoreSnapshot {}
