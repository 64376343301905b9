// The values of a conflict, and the answers of a merge policy, by key path: with the types of the properties, so that
// no name of a property is a text.
//
// Invariants
//   1. A key path stands for the name of its property; access by name has the same values and answers.
//   2. A value that is none of the property's type is never read as the absence of a value (SideReader).
//   3. A class without a table of key paths is an error, and never a property that is not in conflict.

import EspalierModel

/// The values of one property on both sides of a conflict, with the type of the property.
///
/// `nil` = no value; for the values from which both sides started also: not known; for the store also: no row.
public struct MergeSides<Value> {
    /// The value from which both sides started.
    public let base: Value?
    /// The value in the context.
    public let mine: Value?
    /// The value in the store.
    public let stored: Value?
}

extension MergeSides: Sendable where Value: Sendable {}
extension MergeSides: Equatable where Value: Equatable {}

extension MergeConflict {
    /// The values of an attribute, if they differ.
    ///
    ///     MergePolicy { conflict, _ in
    ///         var resolution = MergeResolution(.objectTrump)
    ///         if let sides = try conflict[\Page.visits], let base = sides.base, let mine = sides.mine,
    ///             let stored = sides.stored
    ///         {
    ///             resolution.set(\Page.visits, to: mine + stored - base)
    ///         }
    ///         return resolution
    ///     }
    ///
    /// Throws `ContextError.classWithoutKeyPaths` for a class that belongs to an actor or is not marked with `@Entity`;
    /// thrown out of a policy, the error is part of the save's report. Read the values of such a class by name.
    ///
    /// - Returns: `nil` also for a key path that leads to no property of the model, and if a value is none of the
    ///   property's type. Values of registered transformers are read by name.
    /// - Complexity: O(`properties`).
    @_disfavoredOverload
    public subscript<Object: ManagedObject, Value>(path: KeyPath<Object, Value>) -> MergeSides<Value>? {
        get throws(ContextError) { try sides(path, Object.self, SideReader<Value>.ofAttribute) }
    }

    /// The values of an optional attribute, if they differ: as for others.
    @_disfavoredOverload
    public subscript<Object: ManagedObject, Value>(path: KeyPath<Object, Value?>) -> MergeSides<Value>? {
        get throws(ContextError) { try sides(path, Object.self, SideReader<Value>.ofAttribute) }
    }

    /// The destinations of a to-one relationship, if they differ.
    ///
    /// Throws as for attributes, as do the subscripts for to-many relationships.
    ///
    /// - Complexity: O(`properties`).
    public subscript<Object: ManagedObject, Destination: ManagedObject>(
        path: KeyPath<Object, Destination?>
    ) -> MergeSides<Ref<Destination>>? {
        get throws(ContextError) {
            try sides(path, Object.self, SideReader<Ref<Destination>>.destination(of: Destination.self))
        }
    }

    /// The destinations of a to-many relationship, if the conflict has them.
    ///
    /// - Complexity: O(`properties` + destinations).
    public subscript<Object: ManagedObject, Destination: ManagedObject>(
        path: KeyPath<Object, ToMany<Destination>>
    ) -> MergeSides<[Ref<Destination>]>? {
        get throws(ContextError) { try lists(path, Object.self) }
    }

    /// The destinations of an ordered to-many relationship, if the conflict has them, in their order.
    ///
    /// - Complexity: O(`properties` + destinations).
    public subscript<Object: ManagedObject, Destination: ManagedObject>(
        path: KeyPath<Object, OrderedToMany<Destination>>
    ) -> MergeSides<[Ref<Destination>]>? {
        get throws(ContextError) { try lists(path, Object.self) }
    }

    /// The destinations of a to-many relationship that is a set, if the conflict has them.
    ///
    /// - Complexity: O(`properties` + destinations).
    public subscript<Object: ManagedObject, Destination: ManagedObject>(
        path: KeyPath<Object, Set<Destination>>
    ) -> MergeSides<[Ref<Destination>]>? {
        get throws(ContextError) { try lists(path, Object.self) }
    }

    /// The destinations of an ordered to-many relationship that is an array, if the conflict has them, in their order.
    ///
    /// - Complexity: O(`properties` + destinations).
    public subscript<Object: ManagedObject, Destination: ManagedObject>(
        path: KeyPath<Object, [Destination]>
    ) -> MergeSides<[Ref<Destination>]>? {
        get throws(ContextError) { try lists(path, Object.self) }
    }

    private func property(
        _ path: AnyKeyPath, _ objectClass: ManagedObject.Type
    ) throws(ContextError) -> Property? {
        guard let name = try PropertyPaths.modelledName(of: path, objectClass) else { return nil }
        return self[name]
    }

    private func sides<Value>(
        _ path: AnyKeyPath, _ objectClass: ManagedObject.Type, _ reader: SideReader<Value>
    ) throws(ContextError) -> MergeSides<Value>? {
        guard let found = try property(path, objectClass), found.destinations == nil else { return nil }
        var reader = reader
        let sides = MergeSides(
            base: reader.value(found.base), mine: reader.value(found.mine), stored: reader.value(found.stored))
        return reader.hasOtherType ? nil : sides
    }

    private func lists<Destination: ManagedObject>(
        _ path: AnyKeyPath, _ objectClass: ManagedObject.Type
    ) throws(ContextError) -> MergeSides<[Ref<Destination>]>? {
        guard let lists = try property(path, objectClass)?.destinations else { return nil }
        return MergeSides(
            base: lists.base.map { Ref($0) }, mine: lists.mine.map { Ref($0) }, stored: lists.stored.map { Ref($0) })
    }
}
