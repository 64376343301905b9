// The entries of ordered lists: each change gives the new order, and writes few entries besides the changed ones.

import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct ListPositionsTests {
    private typealias Entry = ListPositions.Entry

    /// The list after a change; expects that its positions differ and that its order is `new`.
    private func applied(
        _ changes: ListPositions, to old: [Entry], _ new: [ObjectID], _ comment: Comment,
        sourceLocation: SourceLocation = #_sourceLocation
    ) -> [Entry] {
        let removed = Set(changes.removed)
        let list = (old.enumerated().filter { !removed.contains($0.offset) }.map(\.element) + changes.added)
            .sorted { $0.position < $1.position }
        #expect(list.map(\.id) == new, comment, sourceLocation: sourceLocation)
        #expect(Set(list.map(\.position)).count == list.count, comment, sourceLocation: sourceLocation)
        return list
    }

    private func ids(_ count: Int) -> [ObjectID] { (0..<count).map { _ in ObjectID(temporaryFor: "Song") } }

    /// A list whose positions have no gaps, as older libraries wrote them.
    private func dense(_ ids: [ObjectID]) -> [Entry] { ids.enumerated().map { (UInt64($0.offset), $0.element) } }

    @Test func `random changes give the new order, and leave what stays in its place`() {
        let seed = testSeed(default: 71)
        var random = SeededGenerator(seed: seed)
        for run in 0..<40 {
            var list = run % 2 == 0 ? dense(ids(30)) : ListPositions(from: [], to: ids(30)).added
            for step in 0..<60 {
                var new = list.map(\.id)
                for _ in 0..<1 + random.next() % 4 {
                    let place = Int(random.next() % UInt64(new.count + 1))
                    switch random.next() % 8 {
                    case 0: new.shuffle(using: &random)
                    case 1: new.removeLast(min(new.count, 3))
                    case 2...4: new.insert(contentsOf: ids(Int(random.next() % 4)), at: place)
                    case 5 where place < new.count: new.remove(at: place)
                    case 6 where place < new.count: new.append(new.remove(at: place))
                    default: new.reverse()
                    }
                }
                let changes = ListPositions(from: list, to: new)
                list = applied(changes, to: list, new, "seed \(seed), run \(run), step \(step)")
            }
        }
    }

    @Test(arguments: ["front", "end", "one place", "behind the last one", "anywhere"])
    func `inserting one destination writes few entries, wherever that is`(place: String) {
        var random = SeededGenerator(seed: 5)
        var list = ListPositions(from: [], to: ids(2000)).added
        var (writtenCount, last) = (0, 1000)
        let stepCount = campaignCount("ESPALIER_POSITION_STEPS", default: 400)
        for step in 0..<stepCount {
            var new = list.map(\.id)
            last += 1
            let index =
                switch place {
                case "front": 0
                case "end": new.count
                case "one place": 1000
                case "behind the last one": last
                default: Int(random.next() % UInt64(new.count))
                }
            new.insert(ids(1)[0], at: index)
            let changes = ListPositions(from: list, to: new)
            writtenCount += changes.removed.count + changes.added.count
            list = applied(changes, to: list, new, "\(place), step \(step)")
        }
        #expect(writtenCount < stepCount * 16, "\(place): \(writtenCount) entries")
    }

    @Test func `moving one destination writes two entries, and so does removing one write one`() {
        var list = ListPositions(from: [], to: ids(1000)).added
        var new = list.map(\.id)
        new.insert(new.remove(at: 900), at: 10)
        let moved = ListPositions(from: list, to: new)
        #expect(moved.removed == [900] && moved.added.map(\.id) == [new[10]])
        list = applied(moved, to: list, new, "moved")
        new.remove(at: 500)
        let removed = ListPositions(from: list, to: new)
        #expect(removed.removed == [500] && removed.added.isEmpty)
    }

    @Test func `a list without gaps gets them where a destination finds no room`() {
        let old = dense(ids(1000))
        var new = old.map(\.id)
        new.insert(ids(1)[0], at: 400)
        let changes = ListPositions(from: old, to: new)
        #expect(changes.removed == Array(400..<1000) && changes.added.count == 601)
        let list = applied(changes, to: old, new, "dense")
        new.insert(ids(1)[0], at: 700)
        #expect(ListPositions(from: list, to: new).added.count == 1)
    }

    @Test func `after the last possible position a list begins anew`() {
        let old: [Entry] = zip([0, 5, .max], ids(3)).map { ($0, $1) }
        let new = old.map(\.id) + ids(2)
        _ = applied(ListPositions(from: old, to: new), to: old, new, "full")
    }
}
