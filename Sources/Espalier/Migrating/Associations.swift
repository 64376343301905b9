// The objects that mappings have made, and the older objects from which they come.
//
// Invariants
//   1. An object is noted once for each mapping that associates it, in the order of these associations. It was made by
//      the first of these mappings; the others have joined it.
//   2. A pair of a source and an object is noted once for a mapping, and is found from both ends.

import EspalierModel

/// The objects of both sides of a migration that come from one another, by mapping.
struct Associations {
    /// The objects of one mapping.
    private struct Group {
        var objects: [(object: ManagedObject, source: ObjectID?)] = []
        /// The positions in `objects` by source.
        var positions: [ObjectID: [Int]] = [:]
        /// The sources after the first one, by position in `objects`; most objects have none.
        var furtherSources: [Int: [ObjectID]] = [:]
        /// The number of objects that no earlier mapping has made.
        var madeCount = 0
    }

    private struct Place {
        let mapping: Int
        /// The position among the objects of the mapping.
        let position: Int
    }

    /// By position of the mapping.
    private var groups: [Group]
    /// The place where each object was noted first.
    private var places: [ObjectIdentifier: Place] = [:]
    /// The places of objects that further mappings have joined.
    private var furtherPlaces: [ObjectIdentifier: [Place]] = [:]

    init(mappingCount: Int) { groups = Array(repeating: Group(), count: mappingCount) }

    /// Notes that an object comes from `source`, by a mapping.
    ///
    /// - Complexity: O(1) for a new object; else O(the sources of the object, or the objects of the source, whichever
    ///   are fewer).
    mutating func add(_ source: ObjectID?, _ object: ManagedObject, _ mapping: Int) {
        guard let position = position(of: object, mapping) else { return addNew(source, object, mapping) }
        guard let source, !hasPair(source, position, mapping) else { return }
        if groups[mapping].objects[position].source == nil {
            groups[mapping].objects[position].source = source
        } else {
            groups[mapping].furtherSources[position, default: []].append(source)
        }
        groups[mapping].positions[source, default: []].append(position)
    }

    private mutating func addNew(_ source: ObjectID?, _ object: ManagedObject, _ mapping: Int) {
        let (identity, position) = (ObjectIdentifier(object), groups[mapping].objects.count)
        groups[mapping].objects.append((object, source))
        if let source { groups[mapping].positions[source, default: []].append(position) }
        if places[identity] == nil {
            places[identity] = Place(mapping: mapping, position: position)
            groups[mapping].madeCount += 1
        } else {
            furtherPlaces[identity, default: []].append(Place(mapping: mapping, position: position))
        }
    }

    // MARK: One mapping

    /// The objects of a mapping in the order in which they were noted, each with its first source.
    func objects(_ mapping: Int) -> [(object: ManagedObject, source: ObjectID?)] { groups[mapping].objects }

    /// The number of objects that a mapping has made, without those that it has joined.
    func madeCount(_ mapping: Int) -> Int { groups[mapping].madeCount }

    /// The objects that come from `source` by a mapping.
    func objects(from source: ObjectID, _ mapping: Int) -> [ManagedObject] {
        (groups[mapping].positions[source] ?? []).map { groups[mapping].objects[$0].object }
    }

    /// The sources of an object by a mapping, in the order in which they were noted.
    func sources(of object: ManagedObject, _ mapping: Int) -> [ObjectID] {
        guard let position = position(of: object, mapping), let first = groups[mapping].objects[position].source else {
            return []
        }
        return [first] + (groups[mapping].furtherSources[position] ?? [])
    }

    // MARK: All mappings

    /// The mappings that have noted an object, in this order.
    func mappings(of object: ManagedObject) -> [Int] {
        let identity = ObjectIdentifier(object)
        guard let first = places[identity] else { return [] }
        return [first.mapping] + (furtherPlaces[identity] ?? []).map(\.mapping)
    }

    /// Whether an object comes from `source`, by any mapping.
    func isTaken(_ source: ObjectID) -> Bool { groups.contains { $0.positions[source] != nil } }

    /// The mappings by which some object comes from `source`.
    func takers(of source: ObjectID) -> [Int] { groups.indices.filter { groups[$0].positions[source] != nil } }

    private func position(of object: ManagedObject, _ mapping: Int) -> Int? {
        let identity = ObjectIdentifier(object)
        guard let first = places[identity] else { return nil }
        if first.mapping == mapping { return first.position }
        return furtherPlaces[identity]?.first { $0.mapping == mapping }?.position
    }

    private func hasPair(_ source: ObjectID, _ position: Int, _ mapping: Int) -> Bool {
        let (positions, sources) = (
            groups[mapping].positions[source] ?? [], groups[mapping].furtherSources[position] ?? []
        )
        guard positions.count > sources.count else { return positions.contains(position) }
        return groups[mapping].objects[position].source == source || sources.contains(source)
    }
}

/// Objects in the order in which they were found, each once.
struct DistinctObjects {
    /// From so many objects on, a set finds those that are known.
    private static let scanCountMax = 8

    private(set) var objects: [ManagedObject] = []
    private var known: Set<ObjectIdentifier> = []

    mutating func append(_ object: ManagedObject) {
        if objects.count < Self.scanCountMax {
            if !objects.contains(where: { $0 === object }) { objects.append(object) }
            return
        }
        if known.isEmpty { known = Set(objects.map { ObjectIdentifier($0) }) }
        if known.insert(ObjectIdentifier(object)).inserted { objects.append(object) }
    }
}
