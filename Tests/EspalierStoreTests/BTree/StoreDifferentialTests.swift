// The same random saves and fetches on dictionaries and on B-trees: all visible results must be equal.

import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct StoreDifferentialTests {
    @Test(arguments: [UInt64(1), 2, 3, 4]) func `a B-tree store does what dictionaries do`(run: UInt64) throws {
        let seed = testSeed(default: 1000) &+ run
        let comparison = try Comparison(seed: seed, kind: run % 2 == 0 ? .treeInFile : .treeInMemory)
        for step in 0..<campaignCount("ESPALIER_STORE_STEPS", default: 120) {
            try comparison.save(step)
            for _ in 0..<4 { try comparison.fetch(step) }
            if step % 40 == 39 { try comparison.reopen() }
        }
        try comparison.saveOneOften(campaignCount("ESPALIER_ROW_SAVES", default: 300))
        try comparison.compareEverything()
    }
}

/// Two stores with the same model and identifier, so that they assign the same IDs.
private final class Comparison {
    private let fixture: StoreFixture
    private var oracle: InMemoryStore
    private var random: SeededGenerator
    private let seed: UInt64
    private var ids: [String: [ObjectID]] = [:]
    private let concrete = ["Song", "Book", "Album", "Person", "Tag", "Playlist", "Note"]
    /// The row count above which deletions outnumber insertions: a long run must try many orders of calls, and each
    /// fetch of the dictionaries visits every row.
    private static let rowCountMax = 1000

    init(seed: UInt64, kind: StoreKind) throws {
        self.seed = seed
        fixture = try StoreFixture(kind)
        oracle = InMemoryStore(model: fixture.model, identifier: fixture.store.identifier)
        random = SeededGenerator(seed: seed)
    }

    func reopen() throws { try fixture.reopen() }

    // MARK: Saves

    /// Saves one row many times: its version and its numbers outgrow each width that the row was encoded for.
    func saveOneOften(_ count: Int) throws {
        var insertion = SaveRequest()
        insertion.insertions = [try fixture.insertion("Book", ["title": .string("often")])]
        let book = try #require(try save(insertion, -1))
        let pages = try #require(try fixture.entity("Book").attribute(named: "pages")).slot
        for number in 0..<count {
            let version = try #require(try oracle.snapshots(of: [book])[0]).version
            var request = SaveRequest()
            request.updates = [.init(id: book, expectedVersion: version)]
            request.updates[0].values = [(pages, random.wideNumber())]
            try save(request, number)
        }
    }

    func save(_ step: Int) throws { try save(randomRequest(), step) }

    /// Saves in both stores, which must give the same result; returns the first row that was inserted.
    @discardableResult
    private func save(_ request: SaveRequest, _ step: Int) throws -> ObjectID? {
        let expected = Result { try oracle.save(request) }
        let found = Result { try fixture.store.save(request) }

        switch (expected, found) {
        case (.success(let expected), .success(let found)):
            #expect(text(expected.inserted) == text(found.inserted), "seed \(seed), step \(step)")
            #expect(text(expected.updated) == text(found.updated), "seed \(seed), step \(step)")
            for row in found.inserted { ids[row.id.entityName, default: []].append(row.id) }
            for deletion in request.deletions { ids[deletion.id.entityName]?.removeAll { $0 == deletion.id } }
            return found.inserted.ids.first
        case (.failure(let expected), .failure(let found)):
            #expect(text(expected) == text(found), "seed \(seed), step \(step)")
        default:
            Issue.record("\(expected) but \(found), seed \(seed), step \(step)")
        }
        return nil
    }

    /// The rows as text, with versions and content: a context takes these for committed after its save.
    private func text(_ rows: SnapshotList) -> [String] {
        rows.map { row in
            let entity = fixture.model.entity(named: row.id.entityName)
            let values = entity?.attributes.indices.map { "\(row.value(at: $0))" } ?? []
            let destinations = entity?.relationships.indices.map { slot in
                row.destination(at: slot).map { "\($0)" } ?? "none"
            }
            return "\(row.id) \(row.version): \(values) \(destinations ?? [])"
        }
    }

    /// The rows and values that an error names, as text.
    private func text(_ error: any Error) -> String {
        switch error as? StoreError {
        case .conflict(let conflicts)?:
            conflicts.map { "\($0.id) \($0.expectedVersion) \($0.stored?.version ?? 0)" }.joined(separator: "; ")
        case .constraint(let conflicts)?:
            conflicts.map { "\($0.entityName) \($0.properties) \($0.values) \($0.object) \($0.other)" }
                .joined(separator: "; ")
        default: "\(error)"
        }
    }

    private func randomRequest() throws -> SaveRequest {
        var request = SaveRequest()
        var touched = Set<ObjectID>()
        for _ in 0..<random.next() % 6 {
            let entity = random.pick(concrete)
            request.insertions.append(try fixture.insertion(entity, values(of: entity)))
        }
        let fresh = Dictionary(grouping: request.insertions.map(\.id), by: \.entityName)
        for index in request.insertions.indices {
            let entity = try fixture.entity(request.insertions[index].id.entityName)
            for relationship in entity.relationships where !relationship.isToMany && !random.oneIn(4) {
                request.insertions[index].destinations[relationship.slot] = destination(of: relationship, fresh)
            }
        }
        for _ in 0..<random.next() % 4 {
            guard let id = anyID(), touched.insert(id).inserted else { continue }
            request.updates.append(try randomUpdate(of: id, fresh))
        }
        let isFull = ids.values.reduce(0) { $0 + $1.count } > Self.rowCountMax
        for _ in 0..<random.next() % (isFull ? 8 : 3) {
            guard let id = anyID(), touched.insert(id).inserted else { continue }
            request.deletions.append(.init(id: id, expectedVersion: try version(of: id)))
        }
        if random.oneIn(10), let id = anyID() { request.locks = [.init(id: id, expectedVersion: try version(of: id))] }
        for _ in 0..<random.next() % 4 {
            if let change = try randomLink(fresh) { request.links.append(change) }
        }
        return request
    }

    private func values(of entity: String) -> [String: AttributeValue] {
        switch entity {
        case "Song":
            [
                "title": random.smallText(), "length": random.smallNumber(), "rating": random.smallDouble(),
                "bitrate": random.smallNumber(),
            ]
        case "Book":
            [
                "title": random.smallText(), "length": random.smallNumber(),
                "pages": random.oneIn(3) ? random.wideNumber() : random.smallNumber(),
                "isbn": random.oneIn(2) ? .null : .string("\(random.next() % 40)"),
            ]
        case "Album": ["name": random.smallText(), "year": random.smallNumber()]
        case "Person":
            [
                "name": random.oneIn(3) ? random.smallText() : .string("\(random.next() % 60)"),
                "born": random.smallNumber(),
            ]
        case "Tag": ["label": random.smallText()]
        case "Playlist": ["name": random.smallText()]
        default: ["text": random.smallText()]
        }
    }

    private func randomUpdate(of id: ObjectID, _ fresh: [String: [ObjectID]]) throws -> SaveRequest.Update {
        let entity = try fixture.entity(id.entityName)
        var update = SaveRequest.Update(id: id, expectedVersion: try version(of: id))
        for (name, value) in values(of: id.entityName).sorted(by: { $0.key < $1.key }) where random.oneIn(2) {
            guard let attribute = entity.attribute(named: name) else { continue }
            update.values.append((attribute.slot, value))
        }
        for relationship in entity.relationships where !relationship.isToMany && random.oneIn(2) {
            update.destinations.append((relationship.slot, destination(of: relationship, fresh)))
        }
        return update
    }

    private func randomLink(_ fresh: [String: [ObjectID]]) throws -> SaveRequest.LinkChange? {
        guard let owner = anyID() else { return nil }
        let toMany = try fixture.entity(owner.entityName).relationships.filter { relationship in
            relationship.isToMany
                && (relationship.isOrdered || fixture.model.inverse(of: relationship)?.isToMany != false)
        }
        guard !toMany.isEmpty else { return nil }
        let relationship = random.pick(toMany)
        func some() -> [ObjectID] { (0..<random.next() % 4).compactMap { _ in destination(of: relationship, fresh) } }
        if relationship.isOrdered, random.oneIn(2) {
            var order = try oracle.destinations(of: relationship, for: [owner])[0].shuffled(using: &random)
            if random.oneIn(3) { order = Array(order.dropLast()) }
            return .init(owner: owner, slot: relationship.slot, order: order + some())
        }
        return .init(owner: owner, slot: relationship.slot, added: some(), removed: some())
    }

    private func destination(of relationship: Relationship, _ fresh: [String: [ObjectID]]) -> ObjectID? {
        let names = fixture.model.destination(of: relationship).family.map { fixture.model.entities[$0].name }
        let known = names.flatMap { (ids[$0] ?? []).suffix(12) + (fresh[$0] ?? []) }
        return known.isEmpty || random.oneIn(6) ? nil : random.pick(known)
    }

    private func anyID() -> ObjectID? {
        let known = ids[random.pick(concrete)] ?? []
        return known.isEmpty ? nil : random.pick(known)
    }

    private func version(of id: ObjectID) throws -> UInt64 {
        let version = try oracle.snapshots(of: [id])[0]?.version ?? 1
        return random.oneIn(40) ? version + 1 : version
    }

    // MARK: Fetches

    func fetch(_ step: Int) throws {
        let fetch = try random.fetch(fixture, ids)
        try compare(fetch, "seed \(seed), step \(step)")
    }

    func compareEverything() throws {
        let report = try #require(fixture.store as? BTreeStore).check()
        #expect(report.isOK, "\(report.findings), seed \(seed)")
        for entity in fixture.model.entities {
            try compare(fixture.request(entity.name, subentities: false), "seed \(seed), all of \(entity.name)")
            let owners = try oracle.fetchIDs(fixture.request(entity.name, subentities: false))
            for relationship in entity.relationships where relationship.isToMany {
                let expected = try oracle.destinations(of: relationship, for: owners)
                let found = try fixture.store.destinations(of: relationship, for: owners)
                #expect(found == expected, "\(entity.name).\(relationship.name), seed \(seed)")
            }
        }
    }

    /// The IDs of the rows that a fetch finds in batches, each of which gives the fetch for the rest.
    private func batches(of fetch: StoreFetch, _ count: Int) throws -> [ObjectID] {
        var (ids, rest): ([ObjectID], StoreFetch?) = ([], fetch)
        while let next = rest {
            let batch = try fixture.store.fetchBatch(next, of: count)
            // Other calls give the same rows for the rest.
            if let rest = batch.rest {
                let others = try oracle.fetchIDs(rest)
                #expect(try fixture.store.fetchIDs(rest) == others && fixture.store.count(rest) == others.count)
            }
            ids += batch.rows.ids
            rest = batch.rest
        }
        return ids
    }

    private func compare(_ fetch: StoreFetch, _ context: String) throws {
        let expected = try oracle.fetch(fetch)
        let found = try fixture.store.fetch(fetch)
        let plan = try fixture.store.explain(fetch)
        let what =
            "\(fetch.entity.name) \(String(describing: fetch.predicate?.source)) \(fetch.sort.map(\.source)) "
            + "\(fetch.offset) \(String(describing: fetch.limit)) by \(plan), \(context)"

        #expect(found.map(\.id) == expected.map(\.id), "\(what)")
        #expect(try fixture.store.fetchIDs(fetch) == expected.map(\.id), "\(what)")
        let batchSize = Int.random(in: 1...8, using: &random)
        #expect(try batches(of: fetch, batchSize) == expected.map(\.id), "batches of \(batchSize), \(what)")
        #expect(try fixture.store.count(fetch) == expected.count, "\(what)")
        for (found, expected) in zip(found, expected) where found.id == expected.id {
            let entity = try fixture.entity(found.id.entityName)
            #expect(found.version == expected.version, "\(what)")
            for slot in entity.attributes.indices {
                #expect(found.value(at: slot).compare(expected.value(at: slot)) == .orderedSame, "\(what)")
            }
            for slot in entity.relationships.indices {
                #expect(found.destination(at: slot) == expected.destination(at: slot), "\(what)")
            }
        }
    }
}
