// The live collection of an unordered to-many relationship.
//
// Invariants
//   1. It keeps no member of a relationship: it asks the object and the store, one question at a time.

public import EspalierModel

/// The destinations of a to-many relationship without order: a set that lives in the store.
///
///     @Entity final class Person: ManagedObject {
///         var name: String
///         var reports: ToMany<Person>
///         @Relationship(inverse: \Person.reports) var boss: Person?
///     }
///     boss.reports.insert(person)        // one look at `person`, however many reports there are
///     print(boss.reports.count)          // counted by the store
///     boss.reports = [anna, bert]        // assigns all
///     let copy = Set(boss.reports)       // a value, which no change reaches
///
/// It refers to its object and holds nothing itself: what one copy adds all others have at once, and so does the
/// relationship back. None of its operations loads destinations that it is not about. A collection that belongs to no
/// object yet, such as a literal, keeps its members itself.
///
/// A loop goes over the members that there are when it begins, whatever is added and removed meanwhile; an object that
/// is deleted meanwhile still comes.
///
/// Changing it cannot throw, as setting a property cannot: what is not allowed (a deleted object, one of another
/// context or of another entity) changes nothing and is reported by the next `save()` of the context as a `Violation`;
/// `add(_:toRelationshipNamed:)` throws it at once. Like its object it stays in the isolation region of the context.
public struct ToMany<Destination: ManagedObject>: Sequence, ExpressibleByArrayLiteral {
    let members: Members

    init(of owner: ManagedObject, slot: Int) { members = Members(of: owner, slot: slot) }

    /// These objects, to be assigned to a relationship.
    ///
    /// - Complexity: O(n).
    public init(_ objects: some Sequence<Destination>) { members = Members(objects.lazy.map { $0 }) }

    /// These objects, to be assigned to a relationship.
    public init(arrayLiteral objects: Destination...) { self.init(objects) }

    // MARK: Reading

    /// How many members there are; no object is made and no list is read.
    ///
    /// - Complexity: O(1) if it was asked since the last save, refresh or merge, as unsaved changes count themselves;
    ///   else the store counts, which is O(n / members in a page), about 130 in one of 4,096 bytes: its trees do not
    ///   know how many entries a range has. O(n) where neither is the case, in a store of the application's own.
    public var count: Int { members.count }

    /// Whether there are no members.
    ///
    /// - Complexity: O(log n); as `count` if members of what the store holds were removed and not saved.
    public var isEmpty: Bool { members.isEmpty }

    /// Whether `object` is a member.
    ///
    /// - Complexity: O(log n): the to-one relationship back answers, or one look-up in the store.
    public func contains(_ object: Destination) -> Bool { members.contains(object) }

    /// The IDs of the members: stored ones by key, then new ones in the order of their insertion.
    ///
    /// - Complexity: O(n); no object is made.
    public var objectIDs: [ObjectID] { members.ids }

    // MARK: Changing

    /// Adds `object`, unless it is a member.
    ///
    /// - Returns: whether it is a member only now, and the object, as a `Set` does.
    /// - Complexity: O(log n), as `contains`.
    @discardableResult
    public nonmutating func insert(_ object: Destination) -> (inserted: Bool, memberAfterInsert: Destination) {
        let wasMember = contains(object)
        if !wasMember { members.add([object]) }
        return (!wasMember && contains(object), object)
    }

    /// Removes `object`; the object itself stays.
    ///
    /// - Returns: the object, or `nil` if it was no member or the change was refused.
    /// - Complexity: O(log n), as `contains`.
    @discardableResult
    public nonmutating func remove(_ object: Destination) -> Destination? {
        guard contains(object) else { return nil }
        members.remove([object])
        return contains(object) ? nil : object
    }

    /// Adds those of `objects` that are no members; all, or none if one of them is refused.
    ///
    /// - Complexity: O(k log n) for k objects.
    public nonmutating func formUnion(_ objects: some Sequence<Destination>) { members.add(Array(objects)) }

    /// Removes those of `objects` that are members.
    ///
    /// - Complexity: O(k log n) for k objects.
    public nonmutating func subtract(_ objects: some Sequence<Destination>) { members.remove(Array(objects)) }

    /// Removes all members; the objects themselves stay.
    ///
    /// - Complexity: O(n): each has a relationship back that changes.
    public nonmutating func removeAll() { members.replaceAll(with: []) }

    // MARK: Iterating

    /// Goes over the members that there are now.
    public struct Iterator: IteratorProtocol {
        fileprivate var walk: MemberWalk

        /// The next member.
        public mutating func next() -> Destination? {
            while let object = walk.next() { if let object = object as? Destination { return object } }
            return nil
        }
    }

    /// Goes over the members that there are now: stored ones by key, then new ones in the order of their insertion.
    ///
    /// - Complexity: O(n) for the IDs; an object is made when its turn comes.
    public func makeIterator() -> Iterator { Iterator(walk: MemberWalk(over: members)) }
}

extension ToMany: Equatable {
    /// Whether both have the same members.
    ///
    /// - Complexity: O(n).
    public static func == (left: ToMany, right: ToMany) -> Bool { Set(left) == Set(right) }
}

extension ToMany: CustomStringConvertible {
    /// The members, as an array shows them.
    public var description: String { Array(self).description }
}

@available(*, unavailable) extension ToMany: Sendable {}
