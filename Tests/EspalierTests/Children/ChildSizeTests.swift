// Children over the sizes of values, of saves and of trees: each width of numbers, a text of 30 MB, text beyond ASCII,
// no object and thousands, many levels; after the root's save a fresh context reads the same.

import Espalier
import EspalierModel
import TestSupport
import Testing

@Suite struct ChildSizeTests {
    /// Saves from a grandchild down to the store.
    private func saveAll(_ grandchild: ManagedObjectContext) throws {
        var next: ManagedObjectContext? = grandchild
        while let context = next {
            try context.save()
            next = context.parent
        }
        next = grandchild
        while let context = next {
            context.compareWithFreshContext()
            next = context.parent
        }
    }

    private func grandchild(of stack: Stack) -> ManagedObjectContext {
        ManagedObjectContext(parent: ManagedObjectContext(parent: stack.context))
    }

    @Test(arguments: StoreKind.allCases)
    func `numbers of every width pass two levels, and each context reads the last one`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        let context = grandchild(of: stack)
        let track = Track(context: context)
        track.name = "counted"
        for bits in [7, 8, 15, 16, 31, 32, 62] {
            for number in [1 << bits - 1, 1 << bits, -1 << bits, -1 << bits - 1, Int.max, Int.min, 0] {
                track.bytes = number
                try saveAll(context)
                #expect(try stack.stored(Track.self).map(\.bytes) == [number])
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a text of 30 MB and one beyond ASCII pass two levels`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        let context = grandchild(of: stack)
        let track = Track(context: context)
        for name in [String(repeating: "Straße 日本 ", count: 2_000_000), "é\u{301}🎻", ""] {
            track.name = name
            try saveAll(context)
            #expect(try stack.stored(Track.self).map(\.name) == [name])
        }
    }

    @Test func `saves and reads pass as many levels as there are`() throws {
        let stack = try Stack(.btree)
        var contexts = [stack.context]
        for _ in 0..<campaignCount("ESPALIER_CHILD_DEPTH", default: 12) {
            contexts.append(ManagedObjectContext(parent: contexts[contexts.count - 1]))
        }
        let deepest = contexts[contexts.count - 1]
        let track = Track(context: deepest)
        track.name = "deep"
        try saveAll(deepest)
        let middle = contexts[contexts.count / 2]
        let shown = try #require(try middle.existingObject(with: track.objectID) as? Track)
        #expect(shown.name == "deep")

        shown.name = "from the middle"
        try middle.save()
        for context in contexts { context.processPendingChanges() }
        #expect(track.name == "from the middle")
        try saveAll(middle)

        for context in contexts {
            let read = try context.existingObject(with: track.objectID) as? Track
            #expect(read?.name == "from the middle")
        }
    }

    @Test(arguments: [0, 1, campaignCount("ESPALIER_CHILD_SIZE", default: 10_000)])
    func `a save of any number of objects passes two levels`(_ count: Int) throws {
        let stack = try Stack(.btree)
        let context = grandchild(of: stack)
        for number in 0..<count { Track(context: context).name = "\(number)" }
        try saveAll(context)
        #expect(try stack.stored(Track.self).count == count)

        for track in try context.fetch(FetchRequest<Track>()) { track.bytes = 300 }
        try saveAll(context)
        #expect(try stack.stored(Track.self).allSatisfy { $0.bytes == 300 })

        for track in try context.fetch(FetchRequest<Track>()) { try context.delete(track) }
        try saveAll(context)
        #expect(try stack.stored(Track.self).isEmpty)
    }
}
