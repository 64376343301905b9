// The values of a conflict, and the answers of a merge policy, by key path: with the types of the properties, so that
// no name of a property is a text.
//
// Invariants
//   1. A key path stands for the name of its property; access by name has the same values and answers.
//   2. A value that is none of the property's type is never read as the absence of a value.

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
    ///         if let sides = conflict[\Page.visits], let base = sides.base, let mine = sides.mine,
    ///             let stored = sides.stored
    ///         {
    ///             resolution.set(\Page.visits, to: mine + stored - base)
    ///         }
    ///         return resolution
    ///     }
    ///
    /// - Returns: `nil` also for a key path that leads to no property of the model, and if a value is none of the
    ///   property's type. Values of registered transformers are read by name.
    /// - Complexity: O(`properties`).
    @_disfavoredOverload
    public subscript<Object: ManagedObject, Value>(path: KeyPath<Object, Value>) -> MergeSides<Value>? {
        sides(path, Object.self) { SwiftValue<Value>($0)?.value }
    }

    /// The values of an optional attribute, if they differ: as for others.
    @_disfavoredOverload
    public subscript<Object: ManagedObject, Value>(path: KeyPath<Object, Value?>) -> MergeSides<Value>? {
        sides(path, Object.self) { SwiftValue<Value>($0)?.value }
    }

    /// The destinations of a to-one relationship, if they differ.
    ///
    /// - Complexity: O(`properties`).
    public subscript<Object: ManagedObject, Destination: ManagedObject>(
        path: KeyPath<Object, Destination?>
    ) -> MergeSides<Ref<Destination>>? {
        sides(path, Object.self) { if case .objectID(let id) = $0 { Ref(id) } else { nil } }
    }

    /// The destinations of a to-many relationship, if the conflict has them.
    ///
    /// - Complexity: O(`properties` + destinations).
    public subscript<Object: ManagedObject, Destination: ManagedObject>(
        path: KeyPath<Object, ToMany<Destination>>
    ) -> MergeSides<[Ref<Destination>]>? { lists(path, Object.self) }

    /// The destinations of an ordered to-many relationship, if the conflict has them, in their order.
    ///
    /// - Complexity: O(`properties` + destinations).
    public subscript<Object: ManagedObject, Destination: ManagedObject>(
        path: KeyPath<Object, OrderedToMany<Destination>>
    ) -> MergeSides<[Ref<Destination>]>? { lists(path, Object.self) }

    /// The destinations of a to-many relationship that is a set, if the conflict has them.
    ///
    /// - Complexity: O(`properties` + destinations).
    public subscript<Object: ManagedObject, Destination: ManagedObject>(
        path: KeyPath<Object, Set<Destination>>
    ) -> MergeSides<[Ref<Destination>]>? { lists(path, Object.self) }

    /// The destinations of an ordered to-many relationship that is an array, if the conflict has them, in their order.
    ///
    /// - Complexity: O(`properties` + destinations).
    public subscript<Object: ManagedObject, Destination: ManagedObject>(
        path: KeyPath<Object, [Destination]>
    ) -> MergeSides<[Ref<Destination>]>? { lists(path, Object.self) }

    private func property(_ path: AnyKeyPath, _ objectClass: ManagedObject.Type) -> Property? {
        PropertyPaths.of(objectClass).name(of: path).flatMap { self[$0] }
    }

    /// - Parameter convert: the Swift value of a value that is not null.
    private func sides<Value>(
        _ path: AnyKeyPath, _ objectClass: ManagedObject.Type, _ convert: (AttributeValue) -> Value?
    ) -> MergeSides<Value>? {
        guard let property = property(path, objectClass), property.destinations == nil else { return nil }
        var isFaulty = false
        func side(_ value: AttributeValue?) -> Value? {
            guard let value, !value.isNull else { return nil }
            let converted = convert(value)
            if converted == nil { isFaulty = true }
            return converted
        }
        let sides = MergeSides(
            base: side(property.base), mine: side(property.mine), stored: side(property.stored))
        return isFaulty ? nil : sides
    }

    private func lists<Destination: ManagedObject>(
        _ path: AnyKeyPath, _ objectClass: ManagedObject.Type
    ) -> MergeSides<[Ref<Destination>]>? {
        guard let lists = property(path, objectClass)?.destinations else { return nil }
        return MergeSides(
            base: lists.base.map { Ref($0) }, mine: lists.mine.map { Ref($0) }, stored: lists.stored.map { Ref($0) })
    }
}
