// Orders that are sent as edits: a B-tree store that writes the edits has the lists of a store that writes whole
// orders, also if its lists have changed since the sender read them.

import EspalierEngine
import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct OrderEditTests {
    /// Two stores that get the same requests.
    private struct Pair {
        let fixtures: [StoreFixture]
        /// The IDs of each store, at the same places.
        var items: [[ObjectID]] = [[], []]
        var owner: [ObjectID] = []
        let (ownerName, name): (String, String)
        var list: [Int] = []

        var isDerived: Bool { ownerName == "Album" }

        init(_ ownerName: String, _ name: String, count: Int) throws {
            (self.ownerName, self.name) = (ownerName, name)
            fixtures = [try StoreFixture(.memory), try StoreFixture(.treeInMemory)]
            for (number, fixture) in fixtures.enumerated() {
                owner.append(try fixture.insert(ownerName))
                var request = SaveRequest()
                request.insertions = try (0..<count).map { _ in
                    try fixture.insertion("Song", to: isDerived ? ["album": owner[number]] : [:])
                }
                items[number] = try fixture.store.save(request).inserted.ids
                if !isDerived { try fixture.link(owner[number], name, order: items[number]) }
            }
            list = Array(0..<count)
        }

        /// Expects the same list in both stores, and takes it.
        mutating func compare(_ comment: Comment) throws {
            let found = try fixtures.enumerated().map { number, fixture in
                try fixture.links(owner[number], name).map { items[number].firstIndex(of: $0) ?? -1 }
            }
            #expect(found[0] == found[1], comment)
            list = found[0]
            #expect(list.count == Set(list).count && !list.contains(-1), comment)
        }

        /// Gives the entries of the list in the tree other positions.
        func setPositions(_ positions: [UInt64]) throws {
            let store = try #require(fixtures[1].store as? BTreeStore)
            var transaction = try store.database.beginWrite()
            let name = "links:\(ownerName).\(name)"
            let tree = try #require(try transaction.tree(named: name, keys: [UInt8].self))
            var entries: [(key: [UInt8], value: [UInt8])] = []
            var cursor = try transaction.cursor(over: tree)
            while try cursor.next() { entries.append((try cursor.key, try cursor.value())) }
            for entry in entries { _ = try transaction.remove(entry.key, from: tree) }
            for (entry, position) in zip(entries, positions) {
                var key = entry.key
                for byte in 0..<8 { key[8 + byte] = UInt8(truncatingIfNeeded: position >> UInt64(56 - 8 * byte)) }
                _ = try transaction.put(entry.value, for: key, in: tree)
            }
            try transaction.commit()
        }

        func check(_ comment: Comment) throws {
            let report = try #require(fixtures[1].store as? BTreeStore).check()
            #expect(report.isOK && report.dangling.isEmpty, "\(report), \(comment)")
        }
    }

    /// How far the positions of a list are apart.
    enum Gaps: String, CaseIterable, CustomTestStringConvertible {
        case none, narrow, atFront, atEnd, uneven, random

        var testDescription: String { rawValue }

        /// Ascending positions.
        func positions(_ count: Int, _ random: inout SeededGenerator) -> [UInt64] {
            let numbers = 0..<UInt64(count)
            switch self {
            case .none: return Array(numbers)
            case .narrow: return numbers.map { 3 * $0 + 1 << 40 }
            case .atFront: return numbers.map { $0 == 0 ? 0 : $0 << 33 }
            case .atEnd: return numbers.map { .max - (numbers.upperBound - 1 - $0) * 2 }
            case .uneven: return numbers.map { $0 < numbers.upperBound / 2 ? $0 : 1 << 62 + $0 * $0 << 20 }
            case .random: return Set((0..<count).map { _ in random.next() >> 1 }).sorted()
            }
        }
    }

    /// A change of an order: where items are inserted, removed and moved.
    private enum Step {
        case insert(Int, at: Int)
        case remove(at: Int)
        case move(from: Int, to: Int)
    }

    @Test(arguments: [("Album", "songs"), ("Playlist", "songs"), ("Person", "favourites")], [0, 1, 2, 30, 400])
    func `edits make the list that the whole order makes`(_ relationship: (String, String), _ count: Int) throws {
        let seed = testSeed(default: 9120) &+ UInt64(count)
        var random = SeededGenerator(seed: seed)
        var pair = try Pair(relationship.0, relationship.1, count: count)
        for step in 0..<campaignCount("ESPALIER_EDIT_STEPS", default: 60) {
            let comment: Comment = "seed \(seed), \(relationship), step \(step)"
            let read = pair.list
            if Int.random(in: 0..<3, using: &random) == 0 { try disturb(&pair, &random) }
            try edit(&pair, read, &random)
            try pair.compare(comment)
            if step % 10 == 0 { try pair.check(comment) }
        }
        try pair.check("seed \(seed), \(relationship)")
    }

    @Test(arguments: [("Album", "songs"), ("Person", "favourites")], Gaps.allCases)
    func `edits find their places however far the positions of a list are apart`(
        _ relationship: (String, String), _ gaps: Gaps
    ) throws {
        let seed = testSeed(default: 9130)
        var random = SeededGenerator(seed: seed)
        for count in [1, 2, 3, 90] {
            var pair = try Pair(relationship.0, relationship.1, count: count)
            try pair.setPositions(gaps.positions(count, &random))
            try pair.compare("seed \(seed), \(relationship), \(count) before")
            for step in 0..<20 {
                try edit(&pair, pair.list, &random)
                try pair.compare("seed \(seed), \(relationship), \(count), step \(step)")
            }
            try pair.check("seed \(seed), \(relationship), \(count)")
        }
    }

    @Test(arguments: StoreKind.allCases, [("Playlist", "songs"), ("Person", "favourites")])
    func `a destination that has joined since is in the list once, where the edits put it`(
        _ kind: StoreKind, _ relationship: (String, String)
    ) throws {
        let fixture = try StoreFixture(kind)
        let owner = try fixture.insert(relationship.0)
        let songs = try (0..<9).map { _ in try fixture.insert("Song") }
        let read = Array(songs.dropLast())
        // At the end, and where a search for the others does not meet it.
        for joined in [read + [songs[8]], Array(read[..<6]) + [songs[8]] + read[6...]] {
            try fixture.link(owner, relationship.1, order: read)
            if joined.last == songs[8] {
                try fixture.link(owner, relationship.1, add: [songs[8]])
            } else {
                try fixture.link(owner, relationship.1, order: joined)
            }
            #expect(try fixture.links(owner, relationship.1) == joined)

            var order = OrderedIDs(read)
            order.insert(songs[8], at: 3)
            try send(order, of: owner, relationship.1, read, to: fixture, checksVersion: true)

            #expect(try fixture.links(owner, relationship.1) == order.ids)
            if let store = fixture.store as? BTreeStore { #expect(try store.check().isOK) }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `edits without the version of the owner's row are an order like any other`(kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        let owner = try fixture.insert("Person")
        let songs = try (0..<30).map { _ in try fixture.insert("Song") }
        var exchanged = songs
        exchanged.swapAt(2, 3)
        // A search finds all that the edits name in the second of these orders.
        for newer in [Array(songs.dropFirst(5)) + songs.prefix(5), exchanged] {
            try fixture.link(owner, "favourites", order: songs)
            try fixture.link(owner, "favourites", order: newer)

            var order = OrderedIDs(songs)
            order.move(from: 20, to: 10)
            try send(order, of: owner, "favourites", songs, to: fixture, checksVersion: false)

            #expect(try fixture.links(owner, "favourites") == order.ids)
        }
    }

    private func send(
        _ order: OrderedIDs, of owner: ObjectID, _ name: String, _ base: [ObjectID], to fixture: StoreFixture,
        checksVersion: Bool
    ) throws {
        var request = SaveRequest()
        if checksVersion { request.updates = [try fixture.update(owner)] }
        let slot = try fixture.relationship(name, of: owner.entityName).slot
        request.links = [.init(owner: owner, slot: slot, edits: try #require(OrderEdits(order)), orderBase: base)]
        _ = try fixture.store.save(request)
    }

    /// Removes a member of the list, or appends one, without a new version of the owner's row.
    private func disturb(_ pair: inout Pair, _ random: inout SeededGenerator) throws {
        let place = pair.list.indices.randomElement(using: &random)
        let deletes = Bool.random(using: &random)
        for (number, fixture) in pair.fixtures.enumerated() {
            if deletes {
                if let place { try fixture.delete(pair.items[number][pair.list[place]]) }
            } else {
                let id = try fixture.insert("Song", to: pair.isDerived ? ["album": pair.owner[number]] : [:])
                pair.items[number].append(id)
                if !pair.isDerived { try fixture.link(pair.owner[number], pair.name, add: [id]) }
            }
        }
    }

    /// Sends edits of the list that was read.
    private func edit(_ pair: inout Pair, _ read: [Int], _ random: inout SeededGenerator) throws {
        var (list, steps, newCount) = (read, [Step](), 0)
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let place = Int.random(in: 0...list.count, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0 where place < list.count:
                steps.append(.remove(at: place))
                list.remove(at: place)
            case 1 where place < list.count:
                let target = list.indices.randomElement(using: &random) ?? 0
                steps.append(.move(from: place, to: target))
                list.insert(list.remove(at: place), at: target)
            default:
                newCount += 1
                // The number of an item that this request inserts.
                steps.append(.insert(-newCount, at: place))
                list.insert(-newCount, at: place)
            }
        }
        for (number, fixture) in pair.fixtures.enumerated() {
            let new = try (0..<newCount).map { _ in
                try fixture.insertion("Song", to: pair.isDerived ? ["album": pair.owner[number]] : [:])
            }
            func id(_ item: Int) -> ObjectID { item < 0 ? new[-item - 1].id : pair.items[number][item] }
            var order = OrderedIDs(read.map(id))
            for step in steps {
                switch step {
                case .insert(let item, let place): order.insert(id(item), at: place)
                case .remove(let place): order.remove(order[place])
                case .move(let source, let target): order.move(from: source, to: target)
                }
            }
            let left = read.filter { !list.contains($0) }
            var request = SaveRequest()
            request.insertions = new
            request.updates = [try fixture.update(pair.owner[number])]
            for item in left where pair.isDerived {
                guard try fixture.store.snapshots(of: [id(item)])[0] != nil else { continue }
                request.updates.append(try fixture.update(id(item), to: ["album": nil]))
            }
            let slot = try fixture.relationship(pair.name, of: pair.ownerName).slot
            let base = pair.isDerived ? nil : read.map(id)
            let edits = try #require(OrderEdits(order))
            request.links = [.init(owner: pair.owner[number], slot: slot, edits: edits, orderBase: base)]
            pair.items[number] += try fixture.store.save(request).inserted.ids
        }
    }
}
