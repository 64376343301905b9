// The contract of all stores, tested on each kind: rows, versions, constraints, IDs, metadata.

import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct StoreContractTests {
    @Test(arguments: StoreKind.allCases) func `a row comes back as it was saved, for every type`(kind: StoreKind) throws
    {
        let fixture = try StoreFixture(kind)
        let seed = testSeed(default: 7)
        var random = SeededGenerator(seed: seed)
        let entity = try fixture.entity("Sample")
        var expected: [ObjectID: [AttributeValue]] = [:]
        for _ in 0..<50 {
            var row = try fixture.insertion("Sample")
            row.values = entity.attributes.map { random.oneIn(5) ? .null : random.value(of: $0.type) }
            var request = SaveRequest()
            request.insertions = [row]
            let id = try #require(try fixture.store.save(request).inserted.first?.id)
            expected[id] = row.values
        }

        try fixture.reopen()

        for snapshot in try fixture.store.fetch(fixture.request("Sample")) {
            let found = expected.removeValue(forKey: snapshot.id)
            let values = try #require(found)
            for slot in values.indices {
                #expect(snapshot.value(at: slot).compare(values[slot]) == .orderedSame, "slot \(slot), seed \(seed)")
            }
        }
        #expect(expected.isEmpty)
    }

    @Test(arguments: StoreKind.allCases) func `insert, update and delete count versions`(kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        let row = try fixture.insertion("Person", ["name": .string("Ada")])
        var request = SaveRequest()
        request.insertions = [row]

        let result = try fixture.store.save(request)
        let id = try #require(result.inserted.first?.id)
        #expect(!id.isTemporary && id.storeIdentifier == fixture.store.identifier && id.entityName == "Person")
        #expect(result.inserted.map(\.version) == [1] && result.updated.isEmpty)

        try fixture.change(id, ["name": .string("Ada L.")])
        #expect(try fixture.store.snapshots(of: [id])[0]?.version == 2)
        try fixture.change(id)
        #expect(try fixture.store.snapshots(of: [id])[0]?.version == 3)

        try fixture.delete(id)
        #expect(try fixture.store.snapshots(of: [id])[0] == nil)
        #expect(try fixture.store.count(fixture.request("Person")) == 0)
    }

    @Test(arguments: StoreKind.allCases) func `an update of one value keeps all others, for every type`(
        kind: StoreKind
    ) throws {
        let fixture = try StoreFixture(kind)
        let seed = testSeed(default: 19)
        var random = SeededGenerator(seed: seed)
        let entity = try fixture.entity("Sample")
        let id = try fixture.insert("Sample")
        var expected = entity.attributes.map { _ in AttributeValue.null }
        for round in 1...4 {
            for attribute in entity.attributes {
                expected[attribute.slot] = random.oneIn(4) ? .null : random.value(of: attribute.type)
                try fixture.change(id, [attribute.name: expected[attribute.slot]])
                let row = try #require(try fixture.store.snapshots(of: [id])[0])
                for slot in expected.indices {
                    let found = row.value(at: slot)
                    #expect(
                        found.compare(expected[slot]) == .orderedSame,
                        "\(attribute.name), slot \(slot), round \(round), seed \(seed)")
                }
            }
        }
    }

    @Test(arguments: StoreKind.allCases) func `rows come in the order of their IDs, with nil where there is none`(
        kind: StoreKind
    ) throws {
        let fixture = try StoreFixture(kind)
        let ids = try (0..<9).map { try fixture.insert("Person", ["name": .string("\($0)")]) }
        for gone in [0, 3, 4, 8] { try fixture.delete(ids[gone]) }
        let asked = ids + ids.reversed()
        let found = try fixture.store.snapshots(of: asked).map { $0?.id }
        #expect(found == asked.map { [ids[0], ids[3], ids[4], ids[8]].contains($0) ? nil : $0 })
    }

    @Test(arguments: StoreKind.allCases) func `a list of many rows is the same by position and from first to last`(
        kind: StoreKind
    ) throws {
        let fixture = try StoreFixture(kind)
        var request = SaveRequest()
        request.insertions = try (0..<40).map { number in
            let note = String(repeating: "\(number) ", count: number % 7 == 0 ? 30_000 : 400)
            return try fixture.insertion("Person", ["name": .string(note), "born": .integer(Int64(number))])
        }
        let inserted = try fixture.store.save(request).inserted
        let slot = try #require(fixture.entity("Person").attribute(named: "born")?.slot)

        let rows = try fixture.store.fetch(fixture.request("Person"))

        let numbers = (0..<40).map { AttributeValue.integer($0) }
        #expect(rows.count == 40 && rows.map { $0.value(at: slot) } == numbers)
        #expect(rows.indices.map { rows[$0].value(at: slot) } == numbers)
        #expect(
            rows.ids == inserted.ids && rows.map(\.id) == rows.ids
                && inserted.indices.map { inserted[$0].id } == rows.ids)
        #expect(SnapshotList(rows.reversed()).map { $0.value(at: slot) } == numbers.reversed())
    }

    @Test(arguments: StoreKind.allCases) func `all version conflicts are reported and nothing is changed`(
        kind: StoreKind
    ) throws {
        let fixture = try StoreFixture(kind)
        let ids = try ["a", "b", "c", "d"].map { try fixture.insert("Person", ["name": .string($0)]) }
        try fixture.delete(ids[3])
        var request = SaveRequest()
        request.insertions = [try fixture.insertion("Person", ["name": .string("new")])]
        request.updates = [SaveRequest.Update(id: ids[0], expectedVersion: 1, values: [(0, .string("x"))])]
        request.updates.append(SaveRequest.Update(id: ids[1], expectedVersion: 7, values: [(0, .string("y"))]))
        request.deletions = [.init(id: ids[3], expectedVersion: 1)]
        request.locks = [.init(id: ids[2], expectedVersion: 2)]

        let error = #expect(throws: StoreError.self) { try fixture.store.save(request) }

        guard case .conflict(let conflicts) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(Set(conflicts.map(\.id)) == [ids[1], ids[2], ids[3]])
        #expect(conflicts.first { $0.id == ids[1] }?.stored?.version == 1)
        #expect(conflicts.first { $0.id == ids[3] }?.stored == nil)
        #expect(try fixture.store.count(fixture.request("Person")) == 3)
        #expect(try fixture.value(ids[0], "name") == .string("a"))
    }

    @Test(arguments: StoreKind.allCases)
    func `an insertion under an ID that a row has again is a conflict, and one under a reserved ID is not`(
        kind: StoreKind
    ) throws {
        let fixture = try StoreFixture(kind)
        let id = try fixture.insert("Person", ["name": .string("a")])
        try fixture.delete(id)
        var (again, reserved) = (SaveRequest(), SaveRequest())
        again.insertions = [try fixture.insertion("Person", ["name": .string("b")])]
        again.insertions[0].id = id
        reserved.insertions = [try fixture.insertion("Person", ["name": .string("c")])]
        reserved.insertions[0].id = try fixture.store.reserveIDs(for: fixture.entity("Person"), count: 1)[0]
        _ = try fixture.store.save(again)
        try fixture.reopen()
        again.insertions[0].values[0] = .string("d")
        let both = [again, again].map(\.insertions).map { $0[0] }

        let error = #expect(throws: StoreError.self) { try fixture.store.save(again) }
        guard case .conflict(let conflicts) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(conflicts.map(\.id) == [id] && conflicts.first?.expectedVersion == 0)
        #expect(conflicts.first?.stored?.value(at: 0) == .string("b"))
        #expect("\(conflicts)".contains("another writer has done so"))
        #expect(try fixture.value(id, "name") == .string("b"))
        #expect(throws: StoreError.self) {
            var twice = SaveRequest()
            twice.insertions = both
            _ = try fixture.store.save(twice)
        }
        _ = try fixture.store.save(reserved)
        #expect(try fixture.store.count(fixture.request("Person")) == 2)
    }

    @Test(arguments: StoreKind.allCases)
    func `conflicts of rows that are only written over are reported in the order of the request`(
        kind: StoreKind
    ) throws {
        let fixture = try StoreFixture(kind)
        let ids = try ["a", "b", "c", "d", "e"].map {
            try fixture.insert("Person", ["name": .string($0), "born": .integer(1900)])
        }
        var updates = try ids.map { try fixture.update($0, ["born": .integer(1950)]) }
        try fixture.delete(ids[3])
        updates[1].expectedVersion = 7
        func conflicts(_ request: SaveRequest) -> [VersionConflict] {
            let error = #expect(throws: StoreError.self) { try fixture.store.save(request) }
            guard case .conflict(let conflicts) = error else { return [] }
            return conflicts
        }
        var request = SaveRequest()
        request.updates = updates

        let patched = conflicts(request)
        #expect(patched.map(\.id) == [ids[1], ids[3]])
        #expect(patched.map { $0.stored?.version } == [1, nil])
        #expect(patched.map(\.expectedVersion) == [7, 1])

        // Add an update whose row must be encoded anew, and a deletion.
        request.updates[2] = try fixture.update(ids[2], ["name": .string("x")])
        request.updates[2].expectedVersion = 3
        request.updates.removeLast()
        request.deletions = [.init(id: ids[4], expectedVersion: 2)]
        #expect(conflicts(request).map(\.id) == [ids[1], ids[2], ids[3], ids[4]])

        #expect(try ids.compactMap { try fixture.store.snapshots(of: [$0])[0]?.version } == [1, 1, 1, 1])
        #expect(try fixture.value(ids[0], "born") == .integer(1900))
        request = SaveRequest()
        request.updates = try [0, 1, 2, 4].map { try fixture.update(ids[$0], ["born": .integer(1950)]) }
        let result = try fixture.store.save(request)
        #expect(result.updated.map(\.id) == [0, 1, 2, 4].map { ids[$0] })
        #expect(result.updated.map(\.version) == [2, 2, 2, 2])
        try fixture.reopen()
        #expect(try fixture.value(ids[4], "born") == .integer(1950))
        #expect(try fixture.value(ids[4], "name") == .string("e"))
    }

    @Test(arguments: StoreKind.allCases) func `all constraint conflicts are reported and nothing is changed`(
        kind: StoreKind
    ) throws {
        let fixture = try StoreFixture(kind)
        let ada = try fixture.insert("Person", ["name": .string("Ada")])
        let rows = try [
            fixture.insertion("Person", ["name": .string("Ada")]),
            fixture.insertion("Person", ["name": .string("Bob")]),
            fixture.insertion("Person", ["name": .string("Bob")]),
            fixture.insertion("Book", ["isbn": .string("1")]), fixture.insertion("Book", ["isbn": .string("1")]),
        ]
        var request = SaveRequest()
        request.insertions = rows

        let error = #expect(throws: StoreError.self) { try fixture.store.save(request) }

        guard case .constraint(let conflicts) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(conflicts.map(\.entityName) == ["Person", "Person", "Book"])
        #expect(conflicts.map(\.properties) == [["name"], ["name"], ["isbn"]])
        #expect(conflicts.map(\.values) == [[.string("Ada")], [.string("Bob")], [.string("1")]])
        #expect(conflicts.map(\.object) == [0, 2, 4].map { rows[$0].id })
        #expect(conflicts.map(\.other) == [ada, rows[1].id, rows[3].id])
        #expect(try fixture.store.count(fixture.request("Person")) == 1)
        #expect(try fixture.store.count(fixture.request("Media")) == 0)
    }

    @Test(arguments: StoreKind.allCases) func `nulls are never equal in a constraint, and rows may exchange values`(
        kind: StoreKind
    ) throws {
        let fixture = try StoreFixture(kind)
        _ = try fixture.insert("Person")
        _ = try fixture.insert("Person")
        let (first, second) = try (
            fixture.insert("Person", ["name": .string("a")]), fixture.insert("Person", ["name": .string("b")])
        )
        let albums = try [first, second].map { try fixture.insert("Album", ["name": .string("x")], to: ["artist": $0]) }
        _ = try fixture.insert("Album", ["name": .string("x")])
        _ = try fixture.insert("Album", ["name": .string("x")])

        var request = SaveRequest()
        request.updates = [
            try fixture.update(first, ["name": .string("b")]), try fixture.update(second, ["name": .string("a")]),
            try fixture.update(albums[0], to: ["artist": second]), try fixture.update(albums[1], to: ["artist": first]),
        ]
        _ = try fixture.store.save(request)

        #expect(try fixture.value(first, "name") == .string("b"))
        #expect(try fixture.links(first, "albums") == [albums[1]])
        #expect(throws: StoreError.self) { try fixture.change(albums[0], to: ["artist": first]) }
    }

    @Test(arguments: StoreKind.allCases) func `long values are unique by all they say`(kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        let long = String(repeating: "long ", count: 300)
        for ending in ["a", "b", "c"] { _ = try fixture.insert("Person", ["name": .string(long + ending)]) }

        #expect(throws: StoreError.self) { _ = try fixture.insert("Person", ["name": .string(long + "b")]) }
        #expect(try fixture.find("Person", "name == %@", long + "b").count == 1)
        #expect(try fixture.find("Person", "name > %@", long + "b").count == 1)
        let sorted = try fixture.store.fetch(
            fixture.request("Person", sort: [SortKey("name", ascending: false)], limit: 2))
        #expect(sorted.map { $0.value(at: 0) } == ["c", "b"].map { .string(long + $0) })
        try fixture.reopen()
        let ids = try fixture.find("Person", "name BEGINSWITH 'long '")
        #expect(ids.count == 3)
        for id in ids { try fixture.delete(id) }
        #expect(try fixture.find("Person", "name BEGINSWITH 'long '").isEmpty)
    }

    @Test(arguments: StoreKind.allCases) func `reserved IDs are given out once, also when a save fails`(kind: StoreKind)
        throws
    {
        let fixture = try StoreFixture(kind)
        let reserved = try fixture.store.reserveIDs(for: fixture.entity("Song"), count: 3)
        var request = SaveRequest()
        request.insertions = [try fixture.insertion("Book", ["isbn": .string("1")])]
        request.insertions.append(try fixture.insertion("Book", ["isbn": .string("1")]))
        #expect(throws: StoreError.self) { try fixture.store.save(request) }
        try fixture.reopen()

        var row = try fixture.insertion("Song", ["title": .string("reserved")])
        row.id = reserved[1]
        request.insertions = [row]
        let result = try fixture.store.save(request)
        let other = try fixture.insert("Book")

        #expect(result.inserted.map(\.id) == [reserved[1]] && result.inserted.map(\.version) == [1])
        #expect(!reserved.map(\.key).contains(other.key))
        #expect(Set(reserved).count == 3 && other.key > reserved.map(\.key).max() ?? 0)
        #expect(throws: StoreError.self) { try fixture.store.save(request) }
    }

    @Test(arguments: StoreKind.allCases) func `metadata is kept and replaced as a whole`(kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        let values: [String: AttributeValue] = [
            "name": .string("Library"), "count": .integer(3), "nested": .composite(["a": .double(1), "b": .null]),
        ]
        try fixture.store.setMetadata(["old": .boolean(true)])
        try fixture.store.setMetadata(values)
        try fixture.reopen()

        #expect(try fixture.store.metadata() == values)
    }

    @Test(arguments: StoreKind.allCases)
    func `metadata that nests too deep to be read back is refused`(kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        func nested(_ depth: Int) -> AttributeValue {
            (0..<depth).reduce(.integer(1)) { value, _ in .composite(["inner": value]) }
        }
        let deepest = ["value": nested(15)]
        try fixture.store.setMetadata(deepest)

        for depth in [16, 17, 100] {
            let error = #expect(throws: StoreError.self) {
                try fixture.store.setMetadata(["plain": .integer(2), "value": nested(depth)])
            }
            if case .invalidRequest = error {} else { Issue.record("\(depth): \(String(describing: error))") }
        }

        try fixture.reopen()
        #expect(try fixture.store.metadata() == deepest)
    }

    @Test(arguments: StoreKind.allCases)
    func `transformable contents are found by their bytes, and have no order (PX-09)`(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        let contents = [Data([1, 0, 2]), Data([1, 0]), Data(), Data([255])]
        var ids: [ObjectID] = []
        for data in contents { ids.append(try fixture.insert("Sample", ["transformable": .transformable(data)])) }
        let empty = try fixture.insert("Sample")

        for (id, data) in zip(ids, contents) {
            let value = AttributeValue.transformable(data)
            #expect(try fixture.find("Sample", "transformable == %@", value) == [id])
            #expect(try fixture.find("Sample", "transformable != %@", value).count == 4)
            #expect(try fixture.find("Sample", "transformable IN %@", [value]) == [id])
        }
        #expect(try fixture.find("Sample", "transformable == nil") == [empty])
        for format in ["transformable < %@", "transformable BETWEEN {%@, nil}", "transformable BEGINSWITH %@"] {
            #expect(throws: FetchPredicateError.self) {
                try fixture.find("Sample", format, AttributeValue.transformable(Data([1])))
            }
        }
        #expect(throws: FetchPredicateError.self) {
            try fixture.request("Sample", sort: [SortKey("transformable")])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a row is found by the URI of the one to which it leads (PR-14)`(kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        let ada = try fixture.insert("Person", ["name": .string("Ada")])
        let ben = try fixture.insert("Person", ["name": .string("Ben")])
        let first = try fixture.insert("Album", ["name": .string("A")], to: ["artist": ada])
        let second = try fixture.insert("Album", ["name": .string("B")], to: ["artist": ben])
        let lonely = try fixture.insert("Album", ["name": .string("C")])
        try fixture.reopen()

        let uri = ada.uriRepresentation
        let value = AttributeValue.uri(try #require(URL(string: uri)))
        #expect(try fixture.find("Album", "artist == CAST(%@, 'NSManagedObjectID')", uri) == [first])
        #expect(try fixture.find("Album", "CAST(%@, 'objectID') == artist", value) == [first])
        #expect(try Set(fixture.find("Album", "artist != CAST(%@, 'objectID')", uri)) == [second, lonely])
        #expect(try Set(fixture.find("Album", "artist IN {CAST(%@, 'objectID'), nil}", uri)) == [first, lonely])
        #expect(try fixture.find("Person", "SELF == CAST(%@, 'NSManagedObjectID')", uri) == [ada])
        let albumURI = second.uriRepresentation
        #expect(try fixture.find("Person", "ANY albums == CAST(%@, 'NSManagedObjectID')", albumURI) == [ben])
        #expect(throws: FetchPredicateError.self) {
            try fixture.find("Album", "artist == CAST(%@, 'NSManagedObjectID')", "\(uri)/1")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a row is found by a text of its own that is the URI of the one to which it leads (PR-14)`(
        kind: StoreKind
    ) throws {
        let fixture = try StoreFixture(kind)
        let ada = try fixture.insert("Person", ["name": .string("Ada")])
        let ben = try fixture.insert("Person", ["name": .string("Ben")])
        let right = try fixture.insert("Album", ["name": .string(ada.uriRepresentation)], to: ["artist": ada])
        let wrong = try fixture.insert("Album", ["name": .string(ada.uriRepresentation)], to: ["artist": ben])
        let other = try fixture.insert("Album", ["name": .string("no URI")], to: ["artist": ada])
        try fixture.reopen()

        // A text that names no object stands for none.
        #expect(try fixture.find("Album", "artist == CAST(name, 'NSManagedObjectID')") == [right])
        #expect(try Set(fixture.find("Album", "artist != CAST(name, 'NSManagedObjectID')")) == [wrong, other])
        #expect(try fixture.find("Album", "CAST(name, 'NSManagedObjectID') == nil") == [other])
    }

    @Test(arguments: StoreKind.allCases) func `requests that do not fit are refused and change nothing`(kind: StoreKind)
        throws
    {
        let fixture = try StoreFixture(kind)
        let other = try StoreFixture(.memory)
        let (person, stranger) = try (fixture.insert("Person"), other.insert("Person"))
        func refused(_ what: String, _ change: (inout SaveRequest) throws -> Void) throws {
            var request = SaveRequest()
            request.insertions = [try fixture.insertion("Tag", ["label": .string("never")])]
            try change(&request)
            let error = #expect(throws: StoreError.self, "\(what)") { try fixture.store.save(request) }
            if case .invalidRequest = error {} else { Issue.record("\(what): \(String(describing: error))") }
        }

        try refused("an abstract entity") { $0.insertions.append(try fixture.insertion("Media")) }
        try refused("a value of another type") { $0.insertions[0].values[0] = .integer(1) }
        try refused("a number out of range") {
            $0.insertions.append(try fixture.insertion("Person", ["born": .integer(40_000)]))
        }
        try refused("too few values") { $0.insertions[0].values = [] }
        try refused("an ID of another store") { $0.deletions = [.init(id: stranger, expectedVersion: 1)] }
        try refused("a temporary ID that is not inserted") {
            $0.insertions.append(try fixture.insertion("Album", to: ["artist": ObjectID(temporaryFor: "Person")]))
        }
        try refused("a destination of another entity") {
            $0.insertions.append(try fixture.insertion("Song", to: ["album": person]))
        }
        try refused("a row updated twice") {
            $0.updates = [.init(id: person, expectedVersion: 1), .init(id: person, expectedVersion: 1)]
        }
        try refused("a row deleted twice") {
            $0.deletions = [.init(id: person, expectedVersion: 1), .init(id: person, expectedVersion: 1)]
        }
        try refused("a slot that does not exist") {
            $0.updates = [.init(id: person, expectedVersion: 1, values: [(9, .null)])]
        }
        try refused("links that follow from rows") {
            $0.links = [.init(owner: person, slot: try fixture.relationship("albums", of: "Person").slot, added: [])]
        }
        try refused("an order of an unordered relationship") {
            $0.links = [.init(owner: person, slot: try fixture.relationship("friends", of: "Person").slot, order: [])]
        }
        #expect(try fixture.store.count(fixture.request("Tag")) == 0)
        #expect(throws: StoreError.self) { try fixture.store.fetch(other.request("Person")) }
        #expect(throws: StoreError.self) { try fixture.store.snapshots(of: [stranger]) }
    }

    @Test(arguments: StoreKind.allCases) func `a closed store refuses everything`(kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        try fixture.store.close()

        let calls: [() throws -> Void] = [
            { _ = try fixture.store.fetch(fixture.request("Person")) },
            { _ = try fixture.store.save(SaveRequest()) }, { _ = try fixture.store.metadata() },
            { _ = try fixture.store.reserveIDs(for: fixture.entity("Song"), count: 1) },
            { try fixture.store.close() },
        ]
        for call in calls {
            let error = #expect(throws: StoreError.self) { try call() }
            if case .closed = error {} else { Issue.record("\(String(describing: error))") }
        }
    }
}
