// The live collection of an ordered to-many relationship.
//
// Invariants
//   1. It keeps no member of a relationship: it asks the object and the store, one question at a time.
//   2. It is no `Collection`: the store may answer the count and later return a list that another context has changed
//      in between, and an algorithm of the standard library that asks for both would then stop the program.

public import EspalierModel

/// The destinations of an ordered to-many relationship: a list that lives in the store, each object in it once.
///
///     @Entity final class Album: ManagedObject {
///         var tracks: OrderedToMany<Track>
///     }
///     album.tracks.append(track)
///     album.tracks.move(from: 0, to: 2)
///     album.tracks = [first, second]     // assigns all
///     let copy = Array(album.tracks)     // a value, which no change reaches
///
/// As a `ToMany` it refers to its object, and what is said there of copies, loops and refused changes holds here too.
///
/// A store keeps an order as a list by place, so what is about places needs the list of IDs, which is read once;
/// objects are made only of those that are asked for. A change of an order that has n members takes O(log n) after the
/// first, which takes O(n); saving it takes O(n).
public struct OrderedToMany<Destination: ManagedObject>: Sequence, ExpressibleByArrayLiteral {
    let members: Members

    init(of owner: ManagedObject, slot: Int) { members = Members(of: owner, slot: slot) }

    /// These objects, to be assigned to a relationship; an object that occurs twice has its first place.
    ///
    /// - Complexity: O(n).
    public init(_ objects: some Sequence<Destination>) { members = Members(objects.lazy.map { $0 }) }

    /// These objects, to be assigned to a relationship.
    public init(arrayLiteral objects: Destination...) { self.init(objects) }

    // MARK: Reading

    /// How many members there are; no object is made and no list is read.
    ///
    /// - Complexity: as `ToMany.count`; O(1) once the list of IDs is in memory.
    public var count: Int { members.count }

    /// Whether there are no members.
    ///
    /// - Complexity: O(log n).
    public var isEmpty: Bool { members.isEmpty }

    /// The places of the members.
    ///
    /// - Complexity: as `count`.
    public var indices: Range<Int> { 0..<count }

    /// The member at `index`, which must be one of `indices`, as in an array.
    ///
    /// - Complexity: O(log n); O(n) if the list of IDs is not in memory.
    public subscript(index: Int) -> Destination {
        guard let object = members[index] as? Destination else {
            preconditionFailure("there is no place \(index) among \(count) destinations")
        }
        return object
    }

    /// The first member; `nil` if there is none.
    ///
    /// - Complexity: as for each index.
    public var first: Destination? { members[0] as? Destination }

    /// The last member; `nil` if there is none.
    ///
    /// - Complexity: as for each index.
    public var last: Destination? { members[count - 1] as? Destination }

    /// Whether `object` is a member.
    ///
    /// - Complexity: O(log n); O(n) if the relationship back is ordered too, or if the list of IDs is in memory and not
    ///   changed.
    public func contains(_ object: Destination) -> Bool { members.contains(object) }

    /// Where `object` stands; `nil` if it is no member.
    ///
    /// - Complexity: O(log n) in an order with unsaved changes, and O(n) the first time; else O(n).
    public func firstIndex(of object: Destination) -> Int? { members.index(of: object) }

    /// The IDs of the members, in order.
    ///
    /// - Complexity: O(n); no object is made.
    public var objectIDs: [ObjectID] { members.ids }

    // MARK: Changing

    /// Puts `object` after all others, unless it is a member.
    ///
    /// - Complexity: O(log n); O(n) for the first change.
    public nonmutating func append(_ object: Destination) { members.add([object]) }

    /// Puts those of `objects` that are no members after all others; all, or none if one of them is refused.
    ///
    /// - Complexity: O(k log n) for k objects; O(n) for the first change.
    public nonmutating func append(contentsOf objects: some Sequence<Destination>) { members.add(Array(objects)) }

    /// Puts `object` before the member at `index`, or after all others if that is `count`, unless it is a member.
    ///
    /// - Complexity: O(log n); O(n) for the first change.
    public nonmutating func insert(_ object: Destination, at index: Int) { members.insert([object], at: index) }

    /// Puts those of `objects` that are no members before the member at `index`; all, or none if one is refused.
    ///
    /// - Complexity: O(k log n) for k objects; O(n) for the first change.
    public nonmutating func insert(contentsOf objects: some Sequence<Destination>, at index: Int) {
        members.insert(Array(objects), at: index)
    }

    /// Moves the member at `source` so that it is at `target` afterwards.
    ///
    /// - Complexity: O(log n); O(n) for the first change.
    public nonmutating func move(from source: Int, to target: Int) { members.move(from: source, to: target) }

    /// Removes the member at `index`; the object itself stays.
    ///
    /// - Returns: the object; `nil` if there is no such place, which is reported like other refused changes.
    /// - Complexity: O(log n); O(n) for the first change.
    @discardableResult
    public nonmutating func remove(at index: Int) -> Destination? {
        let object = members[index] as? Destination
        members.remove(at: index)
        return object
    }

    /// Removes `object`; the object itself stays.
    ///
    /// - Returns: the object, or `nil` if it was no member or the change was refused.
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

    /// Removes all members; the objects themselves stay.
    ///
    /// - Complexity: O(n).
    public nonmutating func removeAll() { members.replaceAll(with: []) }

    // MARK: Iterating

    /// Goes over the members that there are now, in order.
    public struct Iterator: IteratorProtocol {
        fileprivate var walk: MemberWalk

        /// The next member.
        public mutating func next() -> Destination? {
            while let object = walk.next() { if let object = object as? Destination { return object } }
            return nil
        }
    }

    /// Goes over the members that there are now, in order.
    ///
    /// - Complexity: O(n) for the IDs; an object is made when its turn comes.
    public func makeIterator() -> Iterator { Iterator(walk: MemberWalk(over: members)) }
}

extension OrderedToMany: Equatable {
    /// Whether both have the same members in the same order.
    ///
    /// - Complexity: O(n).
    public static func == (left: OrderedToMany, right: OrderedToMany) -> Bool { left.elementsEqual(right) }
}

extension OrderedToMany: CustomStringConvertible {
    /// The members, as an array shows them.
    public var description: String { Array(self).description }
}

@available(*, unavailable) extension OrderedToMany: Sendable {}
