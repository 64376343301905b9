// The live collection of an ordered to-many relationship.
//
// Invariants
//   1. It stores no member of a relationship: each access asks the object and the store.
//   2. It is not a `Collection`: the store may return the count and later a list that another context has changed in
//      between, and an algorithm of the standard library that uses both would then stop the program.

public import EspalierModel

/// The destinations of an ordered to-many relationship: a list in the store, with each object once.
///
///     @Entity final class Album: ManagedObject {
///         var tracks: OrderedToMany<Track>
///     }
///     album.tracks.append(track)
///     album.tracks.move(from: 0, to: 2)
///     album.tracks = [first, second]     // assigns all
///     let copy = Array(album.tracks)     // a value, which no later change affects
///
/// Like `ToMany`, it refers to its object, and the rules of `ToMany` for copies, loops and refused changes also apply
/// here.
///
/// A store keeps an order as a list of positions, so an access by position needs the list of IDs, which is read once;
/// only requested objects are made. The first change of an order with n members takes O(n), each later one O(log n).
/// A save of k changes takes O(k log n) in a B-tree store, on average; O(n) if k is more than an eighth of n, after a
/// merge and after an assignment of all members. A list without an object is like an array: to insert, move or remove
/// a member by its position takes O(n), and so does the first access by position after a removal.
public struct OrderedToMany<Destination: ManagedObject>: Sequence, ExpressibleByArrayLiteral {
    let members: Members

    init(of owner: ManagedObject, slot: Int) { members = Members(of: owner, slot: slot) }

    /// A collection of these objects, to assign to a relationship; a repeated object keeps its first position.
    ///
    /// - Complexity: O(n).
    public init(_ objects: some Sequence<Destination>) { members = Members(objects.lazy.map { $0 }) }

    /// A collection of these objects, to assign to a relationship.
    public init(arrayLiteral objects: Destination...) { self.init(objects) }

    // MARK: Reading

    /// The number of members; reading it makes no object and reads no list.
    ///
    /// - Complexity: that of `ToMany.count`; O(1) once the list of IDs is in memory.
    public var count: Int { members.count }

    /// Whether there are no members.
    ///
    /// - Complexity: O(log n).
    public var isEmpty: Bool { members.isEmpty }

    /// The positions of the members.
    ///
    /// - Complexity: that of `count`.
    public var indices: Range<Int> { 0..<count }

    /// The member at `index`, which must be in `indices`: otherwise the program stops with the reason, as for an array.
    ///
    /// An index from an earlier read may be in `indices` no more: a merge or the application has made the list shorter,
    /// the store cannot read it, or `reset()` has made the context forget the object. Code that may meet one of these
    /// calls `object(at:)`, or takes `Array(list)`.
    ///
    /// - Complexity: O(log n); O(n) if the list of IDs is not in memory, and for the first read after a change of the
    ///   members if unsaved deletions may hide some of them.
    public subscript(index: Int) -> Destination {
        guard let object = object(at: index) else { stopProgram(members.reasonForNone(at: index)) }
        return object
    }

    /// The member at `index`; `nil` if there is none.
    ///
    /// If the list cannot be read, it has no members, and the next `save()` of the context reports the error.
    ///
    /// - Complexity: that of the subscript.
    public func object(at index: Int) -> Destination? { members[index] as? Destination }

    /// The first member; `nil` if there is none.
    ///
    /// - Complexity: that of the subscript.
    public var first: Destination? { object(at: 0) }

    /// The last member; `nil` if there is none.
    ///
    /// - Complexity: that of the subscript.
    public var last: Destination? { object(at: count - 1) }

    /// Whether `object` is a member.
    ///
    /// - Complexity: O(log n); O(n) for the first two searches in a row of a list of IDs that is in memory, and if the
    ///   inverse relationship is ordered too.
    public func contains(_ object: Destination) -> Bool { members.contains(object) }

    /// The position of `object`; `nil` if it is not a member.
    ///
    /// - Complexity: O(log n), and O(n) for the first two searches in a row.
    public func firstIndex(of object: Destination) -> Int? { members.index(of: object) }

    /// The IDs of the members, in order.
    ///
    /// - Complexity: O(n); no object is made.
    public var objectIDs: [ObjectID] { members.ids }

    // MARK: Changing

    /// Appends `object`, unless it is a member.
    ///
    /// - Complexity: O(log n); O(n) for the first change.
    public nonmutating func append(_ object: Destination) { members.add([object]) }

    /// Appends those of `objects` that are not members; all, or none if one of them is refused.
    ///
    /// - Complexity: O(k log n) for k objects; O(n) for the first change.
    public nonmutating func append(contentsOf objects: some Sequence<Destination>) { members.add(Array(objects)) }

    /// Inserts `object` before the member at `index`, or appends it if that is `count`, unless it is a member.
    ///
    /// - Complexity: O(log n); O(n) for the first change.
    public nonmutating func insert(_ object: Destination, at index: Int) { members.insert([object], at: index) }

    /// Inserts those of `objects` that are not members before the member at `index`; all, or none if one is refused.
    ///
    /// - Complexity: O(k log n) for k objects; O(n) for the first change.
    public nonmutating func insert(contentsOf objects: some Sequence<Destination>, at index: Int) {
        members.insert(Array(objects), at: index)
    }

    /// Replaces the member at `index` by `object`, unless that is a member; the former one is not deleted.
    ///
    /// - Complexity: O(log n); O(n) for the first change.
    public nonmutating func replaceObject(at index: Int, with object: Destination) {
        members.replace(at: index, with: object)
    }

    /// Moves the member at `source` so that it is at `target` afterwards.
    ///
    /// - Complexity: O(log n); O(n) for the first change.
    public nonmutating func move(from source: Int, to target: Int) { members.move(from: source, to: target) }

    /// Removes the member at `index`; the object itself is not deleted.
    ///
    /// - Returns: the object; `nil` if there is no such position, which is reported like other refused changes.
    /// - Complexity: O(log n); O(n) for the first change.
    @discardableResult
    public nonmutating func remove(at index: Int) -> Destination? {
        let object = object(at: index)
        members.remove(at: index)
        return object
    }

    /// Removes `object`; the object itself is not deleted.
    ///
    /// - Returns: the object; `nil` if it was not a member or the change was refused.
    /// - Complexity: O(log n); O(n) for the first change.
    @discardableResult
    public nonmutating func remove(_ object: Destination) -> Destination? {
        guard contains(object) else { return nil }
        members.remove([object])
        return contains(object) ? nil : object
    }

    /// Removes those of `objects` that are members.
    ///
    /// - Complexity: O(k log n) for k objects; O(n) for the first change.
    public nonmutating func subtract(_ objects: some Sequence<Destination>) { members.remove(Array(objects)) }

    /// Removes all members for which `shouldBeRemoved` is true; the objects themselves are not deleted.
    ///
    /// - Throws: what `shouldBeRemoved` throws; then no member is removed.
    /// - Complexity: O(n) and n calls of `shouldBeRemoved`, and O(k log n) for k members that are removed.
    public nonmutating func removeAll(where shouldBeRemoved: (Destination) throws -> Bool) rethrows {
        members.remove(try filter(shouldBeRemoved))
    }

    /// Removes all members; the objects themselves are not deleted.
    ///
    /// - Complexity: O(n).
    public nonmutating func removeAll() { members.replaceAll(with: []) }

    // MARK: Iterating

    /// Iterates over the current members, in order.
    public struct Iterator: IteratorProtocol {
        fileprivate var walk: MemberWalk

        /// The next member.
        public mutating func next() -> Destination? {
            while let object = walk.next() { if let object = object as? Destination { return object } }
            return nil
        }
    }

    /// Iterates over the current members, in order.
    ///
    /// - Complexity: O(n) for the IDs; an object is made when the iteration reaches it.
    public func makeIterator() -> Iterator { Iterator(walk: MemberWalk(over: members)) }
}

extension OrderedToMany: Equatable {
    /// Whether both have the same members in the same order.
    ///
    /// - Complexity: O(n).
    public static func == (left: OrderedToMany, right: OrderedToMany) -> Bool { left.elementsEqual(right) }
}

extension OrderedToMany: CustomStringConvertible {
    /// The members in the format of an array.
    ///
    /// - Complexity: O(n): it makes all objects and reads those that are faults.
    public var description: String { Array(self).description }
}

@available(*, unavailable) extension OrderedToMany: Sendable {}
