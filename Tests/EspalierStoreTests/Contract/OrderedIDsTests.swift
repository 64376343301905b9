// Long lists that change in the middle against plain arrays, and their difference from the lists they were made of.

import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct OrderedIDsTests {
    /// The order that edits make of the former one, as `OrderEdits` says.
    private func applied(_ edits: OrderEdits) -> [ObjectID] {
        let gone = Set(edits.removed + edits.placed.map(\.id))
        var list = edits.formerOrder.filter { !gone.contains($0) }
        for place in edits.placed {
            let former = place.predecessor.map { list.firstIndex(of: $0) ?? list.count - 1 }
            list.insert(place.id, at: former.map { $0 + 1 } ?? 0)
        }
        return list
    }

    @Test(arguments: [0, 1, 2, 300, 511, 512, 513, 2000])
    func `a list is what an array says, and knows what has changed`(count: Int) {
        let seed = testSeed(default: 4410) &+ UInt64(count)
        var random = SeededGenerator(seed: seed)
        func id() -> ObjectID { ObjectID(temporaryFor: "Song") }
        for round in 0..<6 {
            let original = (0..<count).map { _ in id() }
            var (list, array, left) = (OrderedIDs(original), original, [ObjectID]())
            var hasEdits = false
            for step in 0..<(round == 5 ? 2000 : 60) {
                let (place, other) = (
                    Int.random(in: 0...array.count, using: &random),
                    Int.random(in: 0..<max(1, array.count), using: &random)
                )
                switch Int.random(in: 0..<6, using: &random) {
                case 0, 1:
                    array.insert(id(), at: place)
                    list.insert(array[place], at: place)
                case 2 where place < array.count:
                    let isRemoved = list.remove(array[place])
                    #expect(isRemoved)
                    left.append(array.remove(at: place))
                case 3, 4:
                    guard place < array.count else { continue }
                    array.insert(array.remove(at: place), at: other)
                    list.move(from: place, to: other)
                case 5 where !left.isEmpty:
                    array.insert(left.removeLast(), at: place)
                    list.insert(array[place], at: place)
                default: break
                }
                let comment: Comment = "seed \(seed), round \(round), step \(step)"
                #expect(list.count == array.count && list.isChanged == (array != original), comment)
                if other < array.count {
                    #expect(list[other] == array[other] && list.index(of: array[other]) == other, comment)
                }
                if let last = left.last { #expect(!list.contains(last), comment) }
                guard step % 7 == 0 else { continue }
                #expect(list.ids == array, comment)
                for id in array.prefix(5) + array.suffix(5) + left.suffix(5) {
                    #expect(list.originalIndex(of: id) == original.firstIndex(of: id), comment)
                }
                guard let edits = OrderEdits(list) else { continue }
                hasEdits = true
                #expect(applied(edits) == array && edits.order == array, comment)
                #expect(edits.removed.allSatisfy { !array.contains($0) && original.contains($0) }, comment)
            }
            #expect(hasEdits)
        }
    }

    @Test func `a change that is taken back is none, and a long one is compared as a whole`() {
        let original = (0..<1000).map { _ in ObjectID(temporaryFor: "Song") }
        var list = OrderedIDs(original)

        list.move(from: 5, to: 900)
        list.move(from: 900, to: 5)
        list.remove(original[40])
        list.insert(original[40], at: 40)
        #expect(!list.isChanged)

        for place in 0..<400 { list.move(from: place, to: 999 - place) }
        #expect(list.isChanged && OrderEdits(list) == nil)
        for place in (0..<400).reversed() { list.move(from: 999 - place, to: place) }
        #expect(!list.isChanged)
    }
}
