// Stores that are read and written as a whole, beyond the contract of all stores: files that others replace, saves that
// are refused, bytes that are damaged or forged.

import EspalierCoreData
import EspalierEngine
import EspalierModel
import EspalierStore
import Foundation
import Synchronization
import TestSupport
import Testing

/// A source in memory, which refuses to save on demand.
private final class HeldSource: GraphSource {
    let held: Mutex<(graph: StoredGraph?, refuses: Bool, saves: Int)>

    init(_ graph: StoredGraph? = nil) { held = Mutex((graph, false, 0)) }

    func load(_ model: ManagedObjectModel) throws -> StoredGraph? { held.withLock(\.graph) }

    func save(_ graph: StoredGraph, _ model: ManagedObjectModel) throws {
        try held.withLock { held in
            if held.refuses { throw StoreError.readOnly(path: "elsewhere") }
            held = (graph, false, held.saves + 1)
        }
    }
}

@Suite struct WholeGraphTests {
    private func songs(_ count: Int) throws -> StoreFixture {
        let fixture = try StoreFixture(.binaryFile)
        let album = try fixture.insert("Album", ["name": .string("Ålbum 日本"), "year": .integer(1999)])
        var random = SeededGenerator(seed: testSeed(default: 3))
        for number in 0..<count {
            let song = try fixture.insert("Song", ["title": .string("\(number)")], to: ["album": album])
            let tag = try fixture.insert("Tag", ["label": .string("t\(number)")])
            try fixture.link(song, "tags", add: [tag])
        }
        var row = try fixture.insertion("Sample")
        row.values = try fixture.entity("Sample").attributes.map { random.value(of: $0.type) }
        var request = SaveRequest()
        request.insertions = [row]
        _ = try fixture.store.save(request)
        return fixture
    }

    private func graph(_ fixture: StoreFixture) throws -> StoredGraph {
        try #require(fixture.store as? WholeGraphStore).graph()
    }

    @Test func `a save that the source refuses changes nothing, and later ones succeed`() throws {
        let source = HeldSource()
        let store = try WholeGraphStore(source, type: .binary, model: try MediaModel.make())
        let entity = try #require(store.model.entity(named: "Tag"))
        var request = SaveRequest()
        request.insertions = [.init(id: ObjectID(temporaryFor: "Tag"), values: [.string("a")], destinations: [nil])]
        let snapshot = try store.snapshot()
        source.held.withLock { $0.refuses = true }

        #expect(throws: StoreError.self) { try store.save(request) }
        #expect(throws: StoreError.self) { try store.setMetadata(["a": .integer(1)]) }
        #expect(try store.count(StoreFetch(entity: entity)) == 0 && store.metadata().isEmpty && snapshot.isNewest)

        source.held.withLock { $0.refuses = false }
        let id = try #require(try store.save(request).inserted.first?.id)
        #expect(id.key == 1 && !snapshot.isNewest)
        let saves = source.held.withLock(\.saves)
        for _ in 0..<100 { _ = try store.reserveIDs(for: entity, count: 5) }
        #expect(source.held.withLock(\.saves) == saves + 1)
        let again = try WholeGraphStore(source, type: .binary, model: try MediaModel.make())
        let next = try again.reserveIDs(for: try #require(again.model.entity(named: "Tag")), count: 1)
        #expect(next[0].key > 501 && again.identifier == store.identifier)
    }

    @Test func `a file that somebody else has replaced is not overwritten`() throws {
        let files = MemoryFileSystem()
        let model = try MediaModel.make()
        func open() throws -> WholeGraphStore {
            try WholeGraphStore(GraphFile("/a", BinaryGraphFormat(), in: files), type: .binary, model: model)
        }
        let (first, second) = (try open(), try open())
        try first.setMetadata(["by": .string("first")])

        let error = #expect(throws: StoreError.self) { try second.setMetadata(["by": .string("second")]) }
        guard case .storage(.database(.storeReplaced), "/a")? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        try second.close()
        #expect(try open().metadata() == ["by": .string("first")])
    }

    @Test func `a missing file is created by the first opening, unless it is only read`() throws {
        try withTemporaryFolder { folder in
            let (path, model) = (folder.appending(path: "graph.bin").path, try MediaModel.make())
            func open(isReadOnly: Bool) throws -> any PersistentStore {
                try StoreType.open(StoreOpening(.binary, model: model, path: path, isReadOnly: isReadOnly))
            }
            #expect(throws: StoreError.self) { try open(isReadOnly: true) }
            let store = try open(isReadOnly: false)
            #expect(store.type == .binary && store.path == path && !store.isReadOnly)
            try store.close()
            let reader = try open(isReadOnly: true)
            #expect(reader.identifier == store.identifier && reader.isReadOnly)
            let error = #expect(throws: StoreError.self) { try reader.setMetadata([:]) }
            if case .readOnly(path) = error {} else { Issue.record("\(String(describing: error))") }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["graph.bin"])
        }
    }

    @Test func `a model with other rows is refused, one with other indexes and orders is not`() throws {
        let fixture = try songs(3)
        let bytes = try BinaryGraphFormat().bytes(of: graph(fixture), fixture.model)
        var entities = MediaModel.entities
        entities[5].attributes[0].isIndexed = false
        entities.reverse()
        let other = try ManagedObjectModel(entities: entities)
        let graph = try BinaryGraphFormat().graph(in: bytes, other)
        #expect(graph.rows.count == 8)
        #expect(
            try WholeGraphStore(HeldSource(graph), type: .binary, model: other)
                .count(StoreFetch(entity: try #require(other.entity(named: "Song")))) == 3)

        entities.append(EntityDescription("New"))
        let error = #expect(throws: StoreError.self) {
            try BinaryGraphFormat().graph(in: bytes, try ManagedObjectModel(entities: entities))
        }
        if case .incompatibleModel = error {} else { Issue.record("\(String(describing: error))") }
    }

    @Test func `every changed byte and every cut of a binary file is found, with its place`() throws {
        let fixture = try songs(2)
        let bytes = try BinaryGraphFormat().bytes(of: graph(fixture), fixture.model)
        func expectMalformed(_ bytes: [UInt8], _ what: String) {
            let error = #expect(throws: StoreError.self, "\(what)") {
                try BinaryGraphFormat().graph(in: bytes, fixture.model)
            }
            if case .malformedFile(nil, let place, _)? = error {
                #expect(place.hasPrefix("byte "))
            } else {
                Issue.record("\(what): \(String(describing: error))")
            }
        }
        for offset in bytes.indices {
            var damaged = bytes
            damaged[offset] ^= 1 << UInt8(offset % 8)
            expectMalformed(damaged, "byte \(offset)")
        }
        for count in stride(from: 0, to: bytes.count, by: 7) {
            expectMalformed(Array(bytes[..<count]), "\(count) bytes")
        }
        expectMalformed(bytes + [0], "one byte more")
    }

    @Test func `forged bytes with a right checksum are a store or a typed error`() throws {
        let fixture = try songs(3)
        let bytes = try BinaryGraphFormat().bytes(of: graph(fixture), fixture.model)
        let seed = testSeed(default: 11)
        var random = SeededGenerator(seed: seed)
        var storeCount = 0
        for _ in 0..<campaignCount("ESPALIER_FILE_RUNS", default: 400) {
            var payload = Array(bytes[32...])
            for _ in 0...Int(random.next() % 3) {
                payload[Int(random.next() % UInt64(payload.count))] = UInt8(truncatingIfNeeded: random.next())
            }
            if random.oneIn(4) { payload.removeLast(Int(random.next() % UInt64(payload.count))) }
            var forged = Array(bytes[..<16])
            // SAFETY: the array is not changed during the call.
            let checksum = unsafe payload.withUnsafeBytes { unsafe Checksum.of($0) }
            for word in [checksum, UInt64(payload.count)] {
                forged += (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
            }
            do {
                let graph = try BinaryGraphFormat().graph(in: forged + payload, fixture.model)
                _ = try WholeGraphStore(HeldSource(graph), type: .binary, model: fixture.model)
                storeCount += 1
            } catch is StoreError {}
        }
        #expect(storeCount > 0, "seed \(seed)")
    }

    @Test func `metadata that no file could hold are refused when a graph is loaded`() throws {
        let fixture = try songs(1)
        var graph = try graph(fixture)
        let deep: AttributeValue = (0..<16).reduce(.integer(1)) { value, _ in .composite(["inner": value]) }
        graph.metadata["deep"] = deep
        let error = #expect(throws: StoreError.self) {
            try WholeGraphStore(HeldSource(graph), type: .binary, model: fixture.model)
        }
        if case .invalidRequest? = error {} else { Issue.record("\(String(describing: error))") }
    }

    @Test func `the last key is given out, and then no other one; nothing is saved that cannot be read`() throws {
        let fixture = try songs(1)
        var graph = try graph(fixture)
        graph.counters["Note"] = .init(lastKey: UInt64(Int64.max) - 1)
        let source = HeldSource(graph)
        let store = try WholeGraphStore(source, type: .binary, model: fixture.model)
        let entity = try fixture.entity("Note")
        #expect(throws: StoreError.self) { try store.reserveIDs(for: entity, count: 2) }
        let last = try store.reserveIDs(for: entity, count: 1)[0]
        #expect(last.key == UInt64(Int64.max))

        var request = SaveRequest()
        request.insertions = [.init(id: last, values: [.string("last")], destinations: [])]
        _ = try store.save(request)
        request.insertions = [.init(id: ObjectID(temporaryFor: "Note"), values: [.null], destinations: [])]
        let error = #expect(throws: StoreError.self) { try store.save(request) }
        if case .damagedContent(_, "Note", _, _)? = error {} else { Issue.record("\(String(describing: error))") }
        let held = source.held.withLock { $0.graph }
        let saved = try #require(held)
        let read = try BinaryGraphFormat().graph(
            in: BinaryGraphFormat().bytes(of: saved, fixture.model), fixture.model)
        let again = try WholeGraphStore(HeldSource(read), type: .binary, model: fixture.model)
        #expect(try again.count(StoreFetch(entity: entity)) == 1)
        #expect(throws: StoreError.self) { try again.reserveIDs(for: entity, count: 1) }
    }

    @Test func `a row is changed up to the greatest version, and its file can be read`() throws {
        let fixture = try songs(1)
        var graph = try graph(fixture)
        let place = try #require(graph.rows.firstIndex { $0.id.entityName == "Album" })
        let entity = try fixture.entity("Album")
        let old = graph.rows[place]
        let greatest = UInt64(Int64.max)
        graph.rows[place] = ObjectSnapshot(
            id: old.id, version: greatest - 1, values: entity.attributes.map { old.value(at: $0.slot) },
            destinations: entity.relationships.map { old.destination(at: $0.slot) })
        let source = HeldSource(graph)
        let store = try WholeGraphStore(source, type: .binary, model: fixture.model)
        func change(from version: UInt64) throws {
            var request = SaveRequest()
            request.updates = [.init(id: old.id, expectedVersion: version, values: [(1, .integer(2000))])]
            _ = try store.save(request)
        }
        try change(from: greatest - 1)

        let error = #expect(throws: StoreError.self) { try change(from: greatest) }

        if case .damagedContent(_, "Album", _, _)? = error {} else { Issue.record("\(String(describing: error))") }
        let held = source.held.withLock { $0.graph }
        let saved = try #require(held)
        let read = try BinaryGraphFormat().graph(
            in: BinaryGraphFormat().bytes(of: saved, fixture.model), fixture.model)
        #expect(read.rows.first { $0.id == old.id }?.version == greatest)
        _ = try WholeGraphStore(HeldSource(read), type: .binary, model: fixture.model)
    }

    @Test(arguments: [true, false])
    func `rows and lists that are not of the model are refused before a byte is written`(isXML: Bool) throws {
        let fixture = try songs(1)
        let format: any GraphFormat = isXML ? XMLGraphFormat() : BinaryGraphFormat()
        let whole = try StoredGraph(fixture.store.snapshot(), of: fixture.store)
        let stranger = try ManagedObjectModel(entities: [EntityDescription("Stranger")]).entities[0]
        let id = ObjectID(.number(90), of: stranger, inStore: whole.identifier)
        let note = ObjectID(.number(91), of: try fixture.entity("Note"), inStore: whole.identifier)
        let members = try fixture.relationship("songs", of: "Album")
        func refused(_ what: String, _ change: (inout StoredGraph) throws -> Void) throws {
            var graph = whole
            try change(&graph)
            #expect(throws: StoreError.self, "\(what)") { try format.bytes(of: graph, fixture.model) }
        }
        try refused("a row of another model") {
            $0.rows.append(ObjectSnapshot(id: id, version: 1, values: [], destinations: []))
        }
        try refused("a row with too few values") {
            $0.rows.append(ObjectSnapshot(id: note, version: 1, values: [], destinations: []))
        }
        guard !isXML else { return }
        try refused("a list of another model") { $0.lists.append(.init(id, members, [])) }
        try refused("a list that its owner does not have") { $0.lists.append(.init(note, members, [])) }
        try refused("a destination of another model") { $0.lists[0].destinations.append(id) }
        try refused("a key of a text") { graph in
            let text = ObjectID(.text("a note"), of: try fixture.entity("Note"), inStore: whole.identifier)
            graph.rows.append(ObjectSnapshot(id: text, version: 1, values: [.null], destinations: []))
        }
    }

    @Test func `a graph whose rows or lists do not fit each other is refused, and the row is named`() throws {
        let fixture = try songs(2)
        let whole = try graph(fixture)
        let song = try #require(whole.rows.first { $0.id.entityName == "Song" })
        let album = try fixture.relationship("album", of: "Song")
        func refused(_ what: String, _ change: (inout StoredGraph) throws -> Void) throws {
            var graph = whole
            try change(&graph)
            let error = #expect(throws: StoreError.self, "\(what)") {
                try WholeGraphStore(HeldSource(graph), type: .binary, model: fixture.model)
            }
            if case .damagedContent? = error {} else { Issue.record("\(what): \(String(describing: error))") }
        }
        func row(_ version: UInt64 = 1, _ values: [String: AttributeValue], album id: ObjectID? = nil) throws
            -> ObjectSnapshot
        {
            try ObjectSnapshot(
                id: song.id, version: version, of: fixture.entity("Song"), values: values,
                destinations: id.map { ["album": $0] } ?? [:])
        }
        try refused("a row twice") { $0.rows.append(song) }
        for version in [0, 1 << 63, .max] as [UInt64] {
            try refused("version \(version)") { $0.rows = [try row(version, [:])] }
        }
        // SAFETY: an ID consists of two tags and a key, in this order; no initializer takes key 0.
        let zero = unsafe unsafeBitCast((song.id.storeTag, song.id.entityTag, UInt64(0)), to: ObjectID.self)
        let text = ObjectID(.text("a text"), of: try fixture.entity("Note"), inStore: whole.identifier)
        for id in [zero, text] {
            try refused("key \(id.key)") { graph in
                let entity = try fixture.entity(id.entityName)
                graph.rows.append(try ObjectSnapshot(id: id, version: 1, of: entity, values: [:]))
            }
        }
        try refused("a last key that leaves no key") { $0.counters["Note"] = .init(lastKey: 1 << 63) }
        try refused("a deleted version that is none") { $0.counters["Note"] = .init(goneVersion: 1 << 63) }
        try refused("a value of another type") { $0.rows = [try row(1, ["title": .integer(1)])] }
        try refused("no such destination") { $0.rows = [try row(1, [:], album: whole.rows[0].id)] }
        try refused("another store") {
            $0.rows.append(
                ObjectSnapshot(
                    id: ObjectID(.number(99), of: try fixture.entity("Note"), inStore: UUID()), version: 1,
                    values: [.null], destinations: []))
        }
        try refused("a row that no list has") { graph in
            for position in graph.lists.indices where graph.lists[position].relationship.name == "songs" {
                graph.lists[position].destinations.removeLast()
            }
        }
        try refused("one side only") { $0.lists.removeAll { $0.owner == song.id && $0.relationship.name == "tags" } }
        try refused("a list of a to-one") { $0.lists.append(.init(song.id, album, [])) }
        try refused("a list twice") { $0.lists += $0.lists }
        try refused("a value that must be unique") { graph in
            for key in [UInt64(50), 51] {
                graph.rows.append(
                    try ObjectSnapshot(
                        id: ObjectID(.number(key), of: fixture.entity("Person"), inStore: graph.identifier), version: 1,
                        of: fixture.entity("Person"), values: ["name": .string("Ada")]))
            }
        }
    }
}
