// Random walks of three contexts that save, advance, pin and pass generations to one another: each shows exactly the
// state that was stored when it last advanced. Also threads that read beside one that deletes.

import Espalier
import EspalierModel
import EspalierStore
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite struct GenerationWalkTests {
    @Test func `contexts at random show what was stored when they advanced, rows and links`() throws {
        let seed = testSeed(default: 6_007)
        for round in 0..<campaignCount("ESPALIER_GENERATION_WALKS", default: 20) {
            var walk = try GenerationWalk(round % 4 == 0 ? .btree : .inMemory, seed: seed &+ UInt64(round))
            for _ in 0..<80 where !walk.hasFailed { try walk.step() }
            if walk.hasFailed { return }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `faults that fire beside deletions on other threads are all fulfilled`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 12, tracks: 3)
        let coordinator = stack.coordinator
        let failures = Mutex([String]())
        let turns = campaignCount("ESPALIER_FAULT_STORMS", default: 15)
        let readersAtEnd = Atomic(0)

        DispatchQueue.concurrentPerform(iterations: 4) { thread in
            do {
                if thread == 0 {
                    let context = ManagedObjectContext(coordinator)
                    while readersAtEnd.load(ordering: .relaxed) < 3 {
                        let artists = try context.fetch(FetchRequest<Artist>(sortedBy: [SortKey("name")]))
                        // Deletes one artist, with all that belongs to it, and inserts another.
                        if let first = artists.first { try context.delete(first) }
                        let (artist, album) = (Artist(context: context), Album(context: context))
                        (artist.name, album.title, album.artist) = (
                            "\(UInt64.random(in: 0...UInt64.max))", "New", artist
                        )
                        try context.save()
                    }
                } else {
                    defer { readersAtEnd.add(1, ordering: .relaxed) }
                    let context = ManagedObjectContext(coordinator)
                    context.automaticallyMergesChangesFromParent = thread == 1
                    for _ in 0..<turns {
                        let found = try read(context)
                        if !found.isEmpty { failures.withLock { $0.append("thread \(thread): \(found)") } }
                        if thread == 2 { context.refreshAllObjects() } else { context.reset() }
                    }
                }
            } catch {
                failures.withLock { $0.append("thread \(thread): \(error)") }
            }
        }
        #expect(failures.withLock(\.self).isEmpty)
    }

    /// Fires all faults of a context's generation one by one; returns the first fault found, or an empty string.
    private func read(_ context: ManagedObjectContext) throws -> String {
        let artists = try context.fetch(FetchRequest<Artist>())
        let merges = context.automaticallyMergesChangesFromParent
        // Each fetch would first merge what other contexts have saved meanwhile.
        let counts =
            merges
            ? []
            : [
                try context.count(for: FetchRequest<Artist>()), try context.count(for: FetchRequest<Album>()),
                try context.count(for: FetchRequest<Track>()),
            ]
        var (albums, tracks): ([Album], [Track]) = ([], [])
        for artist in artists {
            albums += artist.albums
            Thread.sleep(forTimeInterval: 0.0005)
        }
        for album in albums { tracks += album.tracks }
        for album in albums where album.title.isEmpty || album.isDeleted || album.artist == nil {
            return "\(album.objectID) is gone"
        }
        for track in tracks where track.name.isEmpty || track.isDeleted || track.album?.artist == nil {
            return "\(track.objectID) is gone"
        }
        guard context.recordedViolations.isEmpty else { return "\(context.recordedViolations)" }
        return counts.isEmpty || counts == [artists.count, albums.count, tracks.count]
            ? "" : "\(counts) are \([artists.count, albums.count, tracks.count])"
    }
}

/// Three contexts on one board, and the state that each must show.
private struct GenerationWalk {
    private struct Side {
        let context: ManagedObjectContext
        /// The state that was stored when the context last advanced.
        var shown: PegState
        var isPinned = false
        /// Unfired faults by name, which the walk holds.
        var faults: [String: Peg] = [:]
        var merges: Bool { context.automaticallyMergesChangesFromParent }
    }
    private let board: PegBoard
    private let seed: UInt64
    private var random: SeededGenerator
    private var sides: [Side] = []
    private var stored: PegState
    private var stepCount = 0
    /// The steps so far, for the message of a failure.
    private var log: [String] = []
    private(set) var hasFailed = false

    init(_ kind: StoreKind, seed: UInt64) throws {
        self.seed = seed
        random = SeededGenerator(seed: seed)
        board = try PegBoard(kind, count: 5)
        stored = try board.stored()
        for number in 0..<3 {
            let context = ManagedObjectContext(board.coordinator)
            context.automaticallyMergesChangesFromParent = number == 0
            _ = try context.count(for: FetchRequest<Peg>())
            sides.append(Side(context: context, shown: stored))
        }
    }

    mutating func step() throws {
        stepCount += 1
        let index = Int.random(in: 0..<3, using: &random)
        let kind = Int.random(in: 0..<20, using: &random)
        log.append("\(stepCount): \(index) does \(kind)")
        switch kind {
        case 0..<8: try changeAndSave(index)
        case 8, 9: try keepFaults(index)
        case 10: advance(index) { $0.refreshAllObjects() }
        case 11:
            // A context that was reset takes its generation at its next read.
            advance(index) { $0.reset() }
            _ = try sides[index].context.queryGenerationToken
        case 12:
            sides[index].context.mergeChanges(from: SavedChanges())
            sides[index].shown = stored
        case 13:
            // A rollback advances no context, and an event only one that merges.
            sides[index].context.rollback()
            sides[index].context.processPendingChanges()
            noteEvent(index)
        case 14, 15:
            try sides[index].context.setQueryGeneration(from: nil)
            (sides[index].shown, sides[index].isPinned) = (stored, false)
        case 16:
            try sides[index].context.setQueryGeneration(from: .current)
            (sides[index].shown, sides[index].isPinned) = (stored, true)
        case 17, 18:
            let other = Int.random(in: 0..<3, using: &random)
            try sides[index].context.setQueryGeneration(from: sides[other].context.queryGenerationToken)
            // Another generation may lack the rows of the context's own faults.
            (sides[index].shown, sides[index].isPinned, sides[index].faults) = (sides[other].shown, true, [:])
        default: try failToSave(index)
        }
        try check(Int.random(in: 0..<3, using: &random))
    }

    /// Notes that a context has merged the saves of others, if it merges by itself.
    private mutating func noteEvent(_ index: Int) {
        if sides[index].merges, !sides[index].isPinned { sides[index].shown = stored }
    }

    /// Advances by `way`, unless the context is pinned; faults of deleted rows then read as deleted.
    private mutating func advance(_ index: Int, _ way: (ManagedObjectContext) -> Void) {
        way(sides[index].context)
        if !sides[index].isPinned { sides[index].shown = stored }
        sides[index].faults = sides[index].faults.filter { $1.managedObjectContext != nil }
    }

    private mutating func keepFaults(_ index: Int) throws {
        let context = sides[index].context
        let ids = try context.fetchIDs(FetchRequest<Peg>(sortedBy: [SortKey("name")]))
        noteEvent(index)
        require(ids.count == sides[index].shown.count, "\(ids.count) pegs", index)
        for (id, name) in zip(ids, sides[index].shown.keys.sorted()) where Bool.random(using: &random) {
            sides[index].faults[name] = try context.object(with: id) as? Peg
        }
    }

    /// Changes, inserts or deletes a peg and saves; expects success unless another context has changed the same rows
    /// since.
    private mutating func changeAndSave(_ index: Int) throws {
        let context = sides[index].context
        let pegs = try board.pegs(context)
        noteEvent(index)
        let names = pegs.keys.sorted()
        switch Int.random(in: 0..<8, using: &random) {
        case 0:
            guard names.count > 3, let peg = names.randomElement(using: &random).flatMap({ pegs[$0] }) else { return }
            try context.delete(peg)
        case 1:
            guard names.count < 8 else { return }
            Peg(context: context).name = "new \(stepCount)"
        default:
            guard let name = names.randomElement(using: &random) else { return }
            let property = ["a", "best", "queue", "mate", "tags", "list"].randomElement(using: &random) ?? "a"
            let others = Array(names.shuffled(using: &random).prefix(PegBoard.toOnes.contains(property) ? 1 : 3))
            let isNumber = PegBoard.attributes.contains(property)
            try board.set(name, property, isNumber ? ["\(stepCount)"] : others, in: context)
        }
        let hadChanges = context.hasChanges
        switch contextError({ try context.save() }) {
        case nil:
            stored = try board.stored()
            if hadChanges { sides[index].shown = stored }
        case .conflicts, .references, .violations, .several:
            // Another context saved first: the values that are read stay as they were.
            context.rollback()
        case let error?: require(false, "\(error)", index)
        }
    }

    private mutating func failToSave(_ index: Int) throws {
        let context = sides[index].context
        let pegs = try board.pegs(context)
        noteEvent(index)
        guard let peg = pegs.values.first else { return }
        try peg.setValue(.null, forKey: "name")
        require(contextError { try context.save() } != nil, "saved without a name", index)
        context.rollback()
    }

    /// Fires the faults that the walk holds, and compares everything that a context shows with the state that was
    /// stored when it advanced.
    private mutating func check(_ index: Int) throws {
        // A later fetch would begin with a merge that may affect the rows of the faults, so merge first.
        sides[index].context.processPendingChanges()
        noteEvent(index)
        var side = sides[index]
        for (name, peg) in side.faults where peg.isFault && peg.managedObjectContext != nil {
            if let values = side.shown[name] {
                require(!peg.isDeleted && "\(peg.a)" == values["a"]?.first, "fault of \(name)", index)
            } else {
                require(peg.a == 0 && peg.isDeleted, "fault of \(name), which is gone", index)
            }
        }
        side.faults = [:]
        sides[index] = side
        let found = try board.state(of: side.context)
        for (name, values) in side.shown where found[name] != values {
            require(false, "\(name) reads \(found[name] ?? [:]) and was \(values)", index)
        }
        require(found.count == side.shown.count, "\(found.keys.sorted())", index)
        require(side.context.recordedViolations.isEmpty, "\(side.context.recordedViolations)", index)
    }

    private mutating func require(_ condition: Bool, _ text: @autoclosure () -> String, _ index: Int) {
        if condition || hasFailed { return }
        hasFailed = true
        Issue.record("seed \(seed), step \(stepCount), context \(index): \(text()); \(log.joined(separator: "; "))")
    }
}
