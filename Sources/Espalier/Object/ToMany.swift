// The live collection of an unordered to-many relationship.
//
// Invariants
//   1. It stores no member of a relationship: each access asks the object and the store.

public import EspalierModel

/// The destinations of a to-many relationship without order: a set in the store.
///
///     @Entity final class Person: ManagedObject {
///         var name: String
///         var reports: ToMany<Person>
///         @Relationship(inverse: \Person.reports) var boss: Person?
///     }
///     boss.reports.insert(person)        // reads only `person`, however many reports there are
///     print(boss.reports.count)          // the store counts
///     boss.reports = [anna, bert]        // assigns all
///     let copy = Set(boss.reports)       // a value, which no later change affects
///
/// It refers to its object and stores nothing itself: a change through one copy is at once visible through all others,
/// and in the inverse relationship. An operation loads only the destinations that it needs. A collection without an
/// object, such as a literal, stores its members itself.
///
/// A loop visits the members that exist when it begins, whatever is added and removed meanwhile; it also visits an
/// object that is deleted meanwhile.
///
/// A change cannot throw, just as setting a property cannot: a change that is not allowed (a deleted object, an object
/// of another context or of another entity) has no effect, and the next `save()` of the context reports it as a
/// `Violation`; `add(_:toRelationshipNamed:)` throws it at once. Like its object, a `ToMany` stays in the isolation
/// region of the context.
public struct ToMany<Destination: ManagedObject>: Sequence, ExpressibleByArrayLiteral {
    let members: Members

    init(of owner: ManagedObject, slot: Int) { members = Members(of: owner, slot: slot) }

    /// A collection of these objects, to assign to a relationship.
    ///
    /// - Complexity: O(n).
    public init(_ objects: some Sequence<Destination>) { members = Members(objects.lazy.map { $0 }) }

    /// A collection of these objects, to assign to a relationship.
    public init(arrayLiteral objects: Destination...) { self.init(objects) }

    // MARK: Reading

    /// The number of members; reading it makes no object and reads no list.
    ///
    /// - Complexity: O(1) if it was read after the last save, refresh or merge, because unsaved changes update the
    ///   count. Otherwise the store counts: O(n / members per page), with about 130 members in a page of 4,096 bytes,
    ///   because its trees do not record the size of a range. O(n) in a custom store that cannot count.
    public var count: Int { members.count }

    /// Whether there are no members.
    ///
    /// - Complexity: O(log n); that of `count` if stored members were removed and the removal is not saved.
    public var isEmpty: Bool { members.isEmpty }

    /// Whether `object` is a member.
    ///
    /// - Complexity: O(log n): the answer is in the inverse to-one relationship, or takes one look-up in the store.
    public func contains(_ object: Destination) -> Bool { members.contains(object) }

    /// The IDs of the members: stored ones by key, then new ones in the order of their insertion.
    ///
    /// - Complexity: O(n); no object is made.
    public var objectIDs: [ObjectID] { members.ids }

    // MARK: Changing

    /// Adds `object`, unless it is a member.
    ///
    /// - Returns: whether `object` is a member only now, and the object, in the form that `Set` returns.
    /// - Complexity: O(log n), like `contains`.
    @discardableResult
    public nonmutating func insert(_ object: Destination) -> (inserted: Bool, memberAfterInsert: Destination) {
        let wasMember = contains(object)
        if !wasMember { members.add([object]) }
        return (!wasMember && contains(object), object)
    }

    /// Removes `object`; the object itself is not deleted.
    ///
    /// - Returns: the object; `nil` if it was not a member or the change was refused.
    /// - Complexity: O(log n), like `contains`.
    @discardableResult
    public nonmutating func remove(_ object: Destination) -> Destination? {
        guard contains(object) else { return nil }
        members.remove([object])
        return contains(object) ? nil : object
    }

    /// Adds those of `objects` that are not members; all, or none if one of them is refused.
    ///
    /// - Complexity: O(k log n) for k objects.
    public nonmutating func formUnion(_ objects: some Sequence<Destination>) { members.add(Array(objects)) }

    /// Removes those of `objects` that are members.
    ///
    /// - Complexity: O(k log n) for k objects.
    public nonmutating func subtract(_ objects: some Sequence<Destination>) { members.remove(Array(objects)) }

    /// Removes all members; the objects themselves are not deleted.
    ///
    /// - Complexity: O(n), because the inverse relationship of each changes.
    public nonmutating func removeAll() { members.replaceAll(with: []) }

    // MARK: Iterating

    /// Iterates over the current members.
    public struct Iterator: IteratorProtocol {
        fileprivate var walk: MemberWalk

        /// The next member.
        public mutating func next() -> Destination? {
            while let object = walk.next() { if let object = object as? Destination { return object } }
            return nil
        }
    }

    /// Iterates over the current members: stored ones by key, then new ones in the order of their insertion.
    ///
    /// - Complexity: O(n) for the IDs; an object is made when the iteration reaches it.
    public func makeIterator() -> Iterator { Iterator(walk: MemberWalk(over: members)) }
}

extension ToMany: Equatable {
    /// Whether both have the same members.
    ///
    /// - Complexity: O(n).
    public static func == (left: ToMany, right: ToMany) -> Bool { Set(left) == Set(right) }
}

extension ToMany: CustomStringConvertible {
    /// The members in the format of an array.
    ///
    /// - Complexity: O(n): it makes all objects and reads those that are faults.
    public var description: String { Array(self).description }
}

@available(*, unavailable) extension ToMany: Sendable {}
