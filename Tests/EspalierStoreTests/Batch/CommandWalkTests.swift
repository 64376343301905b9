// Random commands and saves on three stores at once: a B-tree in chunks of a few rows, a B-tree that carries each
// command out as one save, and dictionaries. After each step all have the same rows and lists, or the same refusal.

import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct CommandWalkTests {
    @Test(arguments: [UInt64(1), 2, 3, 4])
    func `chunks of a command do together what one save does`(run: UInt64) throws {
        let seed = testSeed(default: 19_300) &+ run
        for walk in 0..<UInt64(campaignCount("ESPALIER_COMMAND_WALKS", default: 1)) {
            var walk = try CommandWalk(seed: seed &+ walk &* 1000)
            for step in 0..<40 { try walk.step(step) }
            try walk.checkStores()
        }
    }
}

/// Three stores with the same content.
private struct CommandWalk {
    private enum Outcome: Equatable {
        case done(count: Int, ids: [UInt64], inserted: [String], updated: [String], deleted: [String])
        /// The first error depends on the chunks.
        case refused
    }

    private let seed: UInt64
    private var random: SeededGenerator
    private let chunked: BTreeStore
    private let whole: ForwardingStore
    private let memory: InMemoryStore
    private var stores: [any PersistentStore] { [chunked, whole, memory] }
    private var versions: [String: UInt64] = [:]
    private var contents: [String: [String]] = [:]

    init(seed: UInt64) throws {
        (self.seed, random) = (seed, SeededGenerator(seed: seed))
        let model = try ShelfModel.make()
        chunked = try BTreeStore.inMemory(model: model)
        whole = ForwardingStore(try BTreeStore.inMemory(model: model))
        memory = InMemoryStore(model: model)
    }

    mutating func step(_ number: Int) throws {
        let place = "seed \(seed), step \(number)"
        let make = try drawn()
        let chunkCountMax = 1 + Int(random.next() % 5)
        var outcomes: [Outcome] = []
        for store in stores {
            var command = try make(store)
            (command.chunkCountMax, command.returnsIDs) = (chunkCountMax, true)
            do throws(StoreError) {
                outcomes.append(outcome(try store.execute(command)))
            } catch {
                outcomes.append(.refused)
            }
        }
        if outcomes[0] != outcomes[1] || outcomes[1] != outcomes[2] {
            Issue.record("\(place), chunks of \(chunkCountMax): \(outcomes)")
        }

        try linkMarks()
        try compare(place)
    }

    private func outcome(_ result: CommandResult) -> Outcome {
        func keys(_ rows: RowSet) -> [String] { rows.map { "\($0.entityName) \($0.key)" }.sorted() }
        return .done(
            count: result.count, ids: result.ids.map(\.key), inserted: keys(result.inserted),
            updated: keys(result.updated), deleted: keys(result.deleted))
    }

    // MARK: Commands

    /// A command, for each store with its own IDs.
    private mutating func drawn() throws -> (any PersistentStore) throws -> StoreCommand {
        switch random.next() % 8 {
        case 0...3: try drawnInsertion()
        case 4...6: try drawnUpdate()
        default: try drawnDeletion()
        }
    }

    /// The keys of the rows of an entity itself.
    private func keys(_ name: String) throws -> [UInt64] {
        try memory.fetchIDs(StoreFetch(entity: try memory.entity(name), includesSubentities: false)).map(\.key)
    }

    private mutating func drawnInsertion() throws -> (any PersistentStore) throws -> StoreCommand {
        let name = random.pick(["Shelf", "Card", "Card", "Card", "Photo", "Mark"])
        let (shelves, cards) = (try keys("Shelf"), try keys("Card"))
        var rows: [(values: [String: AttributeValue], to: [(name: String, entity: String, key: UInt64)])] = []
        for _ in 0..<random.next() % 12 {
            var values: [String: AttributeValue] = [:]
            var to: [(name: String, entity: String, key: UInt64)] = []
            switch name {
            case "Shelf": values["factor"] = .integer(Int64(random.next() % 3))
            case "Mark":
                if !cards.isEmpty, random.oneIn(2) { to.append(("best", "Card", random.pick(cards))) }
            default:
                if !random.oneIn(4) { values["number"] = .integer(Int64(random.next() % 40)) }
                if !random.oneIn(60) { values["name"] = .string("n\(random.next() % 9)") }
                if random.oneIn(2) { values["size"] = .integer(Int64(random.next() % 5)) }
                if random.oneIn(3) { values["note"] = .string("note \(random.next() % 3)") }
                for relationship in ["shelf", "place", "guard"] where !shelves.isEmpty && random.oneIn(3) {
                    to.append((relationship, "Shelf", random.pick(shelves)))
                }
                // Several rows that want one partner contradict each other.
                if !cards.isEmpty, rows.isEmpty, random.oneIn(2) { to.append(("pair", "Card", random.pick(cards))) }
            }
            rows.append((values, to))
        }
        let actions: [ConstraintAction?] = [.merge, .merge, .keep, nil]
        let (byNumber, byName) = (random.pick(actions), random.pick(actions))
        return { store in
            var command = try store.insertion(
                name,
                try rows.map { row in
                    try store.newRow(
                        name, row.values,
                        to: Dictionary(
                            row.to.map { ($0.name, store.id($0.entity, $0.key)) },
                            uniquingKeysWith: { first, _ in first }))
                })
            if let byNumber { command.constraintActions[ConstraintName("Card", ["number"])] = byNumber }
            if let byName { command.constraintActions[ConstraintName("Card", ["name", "shelf"])] = byName }
            return command
        }
    }

    private static let conditions = [
        nil, "number > 20", "size == 1", "shelf.factor == 1", "note != nil", "number BETWEEN {5, 15}",
        "pair != nil", "marks.@count > 0", "SELF.entity == 'Photo'", "name BEGINSWITH 'n1'",
    ]

    private mutating func drawnUpdate() throws -> (any PersistentStore) throws -> StoreCommand {
        let property = random.pick(
            ["number", "number", "name", "size", "note", "weight", "shelf", "place", "guard", "pair"])
        let condition = property == "pair" ? "number == \(random.next() % 40)" : random.pick(Self.conditions)
        let (shelves, cards) = (try keys("Shelf"), try keys("Card"))
        let shelf = shelves.isEmpty || random.oneIn(3) ? nil : random.pick(shelves)
        let card = cards.isEmpty || random.oneIn(3) ? nil : random.pick(cards)
        let format: String =
            switch property {
            case "number": random.pick(["number + 1", "40 - number", "number", "7", "size"])
            case "name": random.pick(["name", "uppercase:(name)", "'one'", "note"])
            case "size": random.pick(["shelf.cards.@count", "number", "size * 9000", "TERNARY(size == 1, 2, 1)"])
            case "note": random.pick(["name", "lowercase:(note)", "'common'", "shelf.name"])
            default: "number / 3"
            }
        return { store in
            let value: any PredicateArgument
            switch property {
            case "shelf", "place", "guard":
                value = shelf.map { AttributeValue.objectID(store.id("Shelf", $0)) } ?? .null
            case "pair":
                value = card.map { AttributeValue.objectID(store.id("Card", $0)) } ?? .null
            default: value = try FetchExpression(format: format)
            }
            return StoreCommand(
                .update(try store.rows("Card", condition), try store.assignments("Card", [property: value])))
        }
    }

    private mutating func drawnDeletion() throws -> (any PersistentStore) throws -> StoreCommand {
        if random.oneIn(4) {
            let shelves = try keys("Shelf").filter { _ in random.oneIn(3) }
            let marks = try keys("Mark").filter { _ in random.oneIn(3) }
            return { store in
                let ids =
                    shelves.map { store.id("Shelf", $0) }
                    + marks.map { store.id("Mark", $0) }
                return StoreCommand(.delete(.ids(ids)))
            }
        }
        let condition = random.pick(Array(Self.conditions.dropFirst()))
        let (offset, limit) = (Int(random.next() % 2), random.oneIn(2) ? Int(random.next() % 4) : nil)
        return { store in
            StoreCommand(
                .delete(
                    try store.rows(
                        "Card", condition, sort: [SortKey("note"), SortKey("number")], offset: offset, limit: limit)))
        }
    }

    /// Saves a pair of a mark and a card, which no command can.
    private mutating func linkMarks() throws {
        let (marks, cards) = (try keys("Mark"), try keys("Card"))
        guard !marks.isEmpty, !cards.isEmpty else { return }
        let (mark, card) = (random.pick(marks), random.pick(cards))
        for store in stores {
            var request = SaveRequest()
            let slot = try #require(try store.entity("Mark").relationship(named: "cards")?.slot)
            request.links = [.init(owner: store.id("Mark", mark), slot: slot, added: [store.id("Card", card)])]
            _ = try store.save(request)
        }
    }

    // MARK: Comparing

    private mutating func compare(_ place: String) throws {
        let expected = try memory.content(withVersions: false, inOrder: false)
        for store in stores {
            let found = try store.content(withVersions: false, inOrder: false)
            if found == expected { continue }
            let (missing, surplus) = (Set(expected).subtracting(found), Set(found).subtracting(expected))
            Issue.record("\(store.type): \(place)\n- \(missing.sorted())\n+ \(surplus.sorted())")
        }
        var (versions, contents): ([String: UInt64], [String: [String]]) = ([:], [:])
        for line in try chunked.content() {
            let parts = line.components(separatedBy: " | ")
            let head = parts[0].split(separator: " ")
            let row = "\(head[0]) \(head[1])"
            versions[row] = UInt64(head[2].dropFirst()) ?? 0
            // The lists of a row are no part of it.
            contents[row] = parts.dropFirst().filter { part in
                !["cards=", "line=", "guarded=", "marks="].contains { part.hasPrefix($0) }
            }
            if let former = self.versions[row], self.contents[row] != contents[row] {
                #expect(versions[row] ?? 0 > former, "\(row) has changed without a version, \(place)")
            }
        }
        (self.versions, self.contents) = (versions, contents)
    }

    func checkStores() throws {
        for store in [chunked, whole.base] { #expect(try store.findings().isEmpty, "seed \(seed)") }
    }
}
