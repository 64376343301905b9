// Merges and refreshes below unsaved changes: nothing is overwritten in silence, and both sides of each relationship
// stay equal.

import Espalier
import EspalierModel
import EspalierStore
import Synchronization
import Testing

@Suite struct MergeTests {
    private func conflicts(_ body: () throws -> Void) -> [MergeConflict] {
        if case .conflicts(let conflicts)? = contextError(body) { conflicts } else { [] }
    }

    // MARK: Properties (fault 3)

    @Test(arguments: StoreKind.allCases)
    func `contexts that merge by themselves overwrite no property in silence, and merge others`(
        _ kind: StoreKind
    ) throws {
        let board = try PegBoard(kind, count: 2)
        for context in [board.mine, board.theirs] { context.automaticallyMergesChangesFromParent = true }
        try board.set("0", "a", ["1"], in: board.mine)
        try board.set("1", "a", ["1"], in: board.mine)
        try board.set("0", "a", ["2"], in: board.theirs)
        try board.set("1", "b", ["2"], in: board.theirs)
        try board.theirs.save()

        let found = conflicts { try board.mine.save() }

        #expect(found.map(\.object) == [try board.peg("0", in: board.mine).objectID])
        #expect(found.first?.properties.map(\.name) == ["a"])
        let property = try #require(found.first?.properties.first)
        #expect(property.base == .integer(0) && property.mine == .integer(1) && property.stored == .integer(2))
        #expect(try board.stored()["0"]?["a"] == ["2"])
        board.mine.refresh(try board.peg("0", in: board.mine), mergesChanges: true)
        try board.mine.save()
        #expect(try board.stored()["0"]?["a"] == ["1"])
        #expect(try board.stored()["1"].map { [$0["a"], $0["b"]] } == [["1"], ["2"]])
        try board.expectAgreement("settled")
    }

    @Test(arguments: StoreKind.allCases)
    func `a refresh settles only what a save has told, not what was saved since`(_ kind: StoreKind) throws {
        let board = try PegBoard(kind, count: 1)
        try board.set("0", "a", ["1"], in: board.mine)
        for number in ["2", "3"] {
            try board.set("0", "a", [number], in: board.theirs)
            try board.theirs.save()
            board.mine.refreshAllObjects()
            let found = conflicts { try board.mine.save() }
            #expect(found.first?.properties.first?.base == .integer(0))
            #expect(found.first?.properties.first?.stored == .integer(Int64(number) ?? 0))
        }

        board.mine.refreshAllObjects()
        try board.mine.save()

        #expect(try board.stored()["0"]?["a"] == ["1"])
    }

    @Test(arguments: [MergePolicy.error, .storeTrump, .objectTrump, .overwrite, .rollback])
    func `the same value on both sides, and a value that came back, are no conflict`(_ policy: MergePolicy) throws {
        for theirs in [["1"], ["2", "0"], ["2", "1"]] {
            let board = try PegBoard(.inMemory, count: 1)
            board.mine.mergePolicy = policy
            try board.set("0", "a", ["1"], in: board.mine)
            for number in theirs {
                try board.set("0", "a", [number], in: board.theirs)
                try board.theirs.save()
                board.mine.refreshAllObjects()
            }

            try board.mine.save()

            #expect(try board.stored()["0"]?["a"] == ["1"], "\(theirs)")
        }
    }

    @Test func `a change that is none follows what is merged`() throws {
        let board = try PegBoard(.inMemory, count: 1)
        for number in ["1", "0"] { try board.set("0", "a", [number], in: board.mine) }
        try board.set("0", "a", ["2"], in: board.theirs)
        try board.theirs.save()

        board.mine.refreshAllObjects()

        #expect(try board.peg("0", in: board.mine).a == 2)
        try board.mine.save()
        #expect(try board.stored()["0"]?["a"] == ["2"])
    }

    @Test func `a save that fails after its policy has resolved a merge leaves changes and bases`() throws {
        let board = try PegBoard(.inMemory, count: 2)
        try board.set("0", "a", ["1"], in: board.mine)
        try board.set("0", "a", ["2"], in: board.theirs)
        try board.theirs.save()
        board.mine.refreshAllObjects()
        try board.mine.existingObject(with: board.peg("1", in: board.mine).objectID).setValue(.null, forKey: "name")
        board.mine.mergePolicy = .storeTrump

        #expect(violations { try board.mine.save() }.count == 1)

        #expect(board.mine.updatedObjects.map { $0[attribute: "a"] }.contains(.integer(1)))
        board.mine.mergePolicy = .error
        for object in board.mine.updatedObjects where object[attribute: "name"] == .null {
            try object.setValue(.string("1"), forKey: "name")
        }
        #expect(conflicts { try board.mine.save() }.count == 1)
    }

    // MARK: Locks (fault 5)

    @Test(arguments: StoreKind.allCases)
    func `a locked object that becomes a fault keeps the version that was read`(_ kind: StoreKind) throws {
        let board = try PegBoard(kind, count: 2)
        try board.mine.detectConflicts(for: board.peg("0", in: board.mine))
        board.mine.refreshAllObjects()
        try board.set("1", "a", ["1"], in: board.mine)
        try board.mine.save()
        #expect(try board.stored()["1"]?["a"] == ["1"])

        try board.mine.detectConflicts(for: board.peg("0", in: board.mine))
        try board.set("0", "a", ["5"], in: board.theirs)
        try board.theirs.save()
        board.mine.mergeChanges(from: SavedChanges(updated: [try board.peg("0", in: board.mine).objectID]))
        #expect(try board.peg("0", in: board.mine).a == 5)
        try board.set("1", "a", ["2"], in: board.mine)

        #expect(conflicts { try board.mine.save() }.map(\.object) == [try board.peg("0", in: board.mine).objectID])
        board.mine.mergePolicy = .storeTrump
        try board.mine.save()
        #expect(try board.stored()["1"]?["a"] == ["2"])
    }

    /// The calls that make a locked object adopt the newer row.
    enum Adopting: CaseIterable {
        case refresh, refreshBelowChanges, refreshAll, refreshingFetch, refreshInPinnedContext, merge, automaticMerge

        /// Whether the application has asked for the newer row of the object.
        var isAsked: Bool { [.refresh, .refreshBelowChanges, .refreshAll, .refreshingFetch].contains(self) }
    }

    @Test(arguments: StoreKind.allCases, Adopting.allCases)
    func `a refresh that is asked for settles a lock, and a merge does not (MC-35)`(
        _ kind: StoreKind, _ way: Adopting
    ) throws {
        let board = try PegBoard(kind, count: 3)
        let locked = try board.peg("0", in: board.mine)
        if way == .refreshInPinnedContext { try board.mine.setQueryGeneration(from: .current) }
        board.mine.automaticallyMergesChangesFromParent = way == .automaticMerge
        try board.mine.detectConflicts(for: locked)
        if way == .refreshBelowChanges { try board.set("0", "b", ["7"], in: board.mine) }
        try board.set("1", "a", ["1"], in: board.mine)
        try board.set("0", "a", ["5"], in: board.theirs)
        try board.theirs.save()

        switch way {
        case .refresh, .refreshBelowChanges, .refreshInPinnedContext: board.mine.refresh(locked, mergesChanges: true)
        case .refreshAll: board.mine.refreshAllObjects()
        case .refreshingFetch:
            var request = FetchRequest<Peg>(try FetchPredicate(format: "name == %@", "0"))
            request.shouldRefreshRefetchedObjects = true
            #expect(try board.mine.fetch(request).map(\.a) == [5])
        case .merge: board.mine.mergeChanges(from: SavedChanges(updated: [locked.objectID]))
        case .automaticMerge: board.mine.processPendingChanges()
        }

        if !way.isAsked {
            #expect(conflicts { try board.mine.save() }.map(\.object) == [locked.objectID])
            try board.mine.setQueryGeneration(from: nil)
            board.mine.refresh(locked, mergesChanges: true)
        }
        if way == .refresh || way == .refreshAll {
            try board.mine.save()
            try board.mine.detectConflicts(for: locked)
            try board.set("2", "a", ["1"], in: board.mine)
        }
        // The lock holds for the row that was adopted, and not for what comes after it.
        try board.set("0", "a", ["6"], in: board.theirs)
        try board.theirs.save()
        #expect(conflicts { try board.mine.save() }.map(\.object) == [locked.objectID])
        board.mine.refresh(locked, mergesChanges: true)
        try board.mine.save()

        #expect(locked.a == 6)
        #expect(try board.stored()["1"]?["a"] == ["1"])
        #expect(try board.stored()["0"]?["b"] == [way == .refreshBelowChanges ? "7" : "0"])
    }

    @Test(arguments: StoreKind.allCases)
    func `a refresh does not settle the lock of a row that is deleted`(_ kind: StoreKind) throws {
        let board = try PegBoard(kind, count: 2)
        let locked = try board.peg("0", in: board.mine)
        try board.mine.detectConflicts(for: locked)
        try board.set("1", "a", ["1"], in: board.mine)
        try board.theirs.delete(board.peg("0", in: board.theirs))
        try board.theirs.save()

        board.mine.refreshAllObjects()

        #expect(conflicts { try board.mine.save() }.map(\.object) == [locked.objectID])
        board.mine.mergePolicy = .storeTrump
        try board.mine.save()
        #expect(try board.stored().keys.sorted() == ["1"])
    }

    @Test func `a row that cannot be read leaves the locks of the others renewed (MC-35)`() throws {
        let model = try ManagedObjectModel(for: [Peg.self])
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        let unreadable = Mutex<Set<ObjectID>>([])
        coordinator.add(
            WatchedStore(model: model) { call throws(StoreError) in
                guard case .rows(let ids) = call, unreadable.withLock({ !$0.isDisjoint(with: ids) }) else { return }
                throw StoreError.damagedContent(path: nil, entity: "Peg", key: 1, reason: "it was damaged by a test")
            })
        let (mine, theirs) = (ManagedObjectContext(coordinator), ManagedObjectContext(coordinator))
        let pegs = (0..<3).map { number in
            let peg = Peg(context: mine)
            peg.name = "\(number)"
            return peg
        }
        try mine.save()
        for peg in pegs[..<2] {
            try mine.detectConflicts(for: peg)
            try theirs.existingObject(with: peg.objectID).setValue(.integer(5), forKey: "a")
        }
        try theirs.save()

        let lost = pegs[1].objectID
        unreadable.withLock { $0 = [lost] }
        mine.refreshAllObjects()
        unreadable.withLock { $0 = [] }
        pegs[2].a = 1

        #expect(conflicts { try mine.save() }.map(\.object) == [lost])
        mine.refreshAllObjects()
        try mine.save()
        #expect(pegs.map(\.a) == [5, 5, 1])
    }

    @Test func `a lock goes to the store of its object, also if nothing else is saved there`() throws {
        let model = try ManagedObjectModel(for: musicClasses)
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        coordinator.add(InMemoryStore(model: model), entityNames: ["Artist", "Album", "Track"])
        coordinator.add(InMemoryStore(model: model), entityNames: ["Listener", "Playlist"])
        let (mine, theirs) = (ManagedObjectContext(coordinator), ManagedObjectContext(coordinator))
        let (artist, listener) = (Artist(context: mine), Listener(context: mine))
        (artist.name, listener.name) = ("A", "L")
        try mine.save()
        for (locked, changed) in [(artist as ManagedObject, listener as ManagedObject), (listener, artist)] {
            try mine.detectConflicts(for: locked)
            try changed.setValue(.string("new"), forKey: "name")
            try mine.save()

            try mine.detectConflicts(for: locked)
            try theirs.existingObject(with: locked.objectID).setValue(.string("theirs"), forKey: "name")
            try theirs.save()
            try changed.setValue(.string("newer"), forKey: "name")
            #expect(conflicts { try mine.save() }.map(\.object) == [locked.objectID])
            mine.rollback()
            for object in [artist as ManagedObject, listener] { mine.refresh(object, mergesChanges: false) }
            #expect(changed[attribute: "name"] == .string("new"))
        }
    }

    // MARK: Deletions

    /// How a context learns of a deletion.
    enum Learning: CaseIterable { case merge, automaticMerge, parent }

    @Test(arguments: StoreKind.allCases, Learning.allCases)
    func `an object whose deletion is merged stays registered, is deleted and no fault, and its values can be read`(
        _ kind: StoreKind, _ way: Learning
    ) throws {
        let board = try PegBoard(kind, count: 3, [("0", "tags", ["1"]), ("0", "best", ["2"])])
        let context = way == .parent ? ManagedObjectContext(parent: board.theirs) : board.mine
        context.automaticallyMergesChangesFromParent = way != .merge
        let peg = try board.peg("0", in: context)
        let others = try [board.peg("1", in: context), board.peg("2", in: context)]
        #expect(try peg.objectIDs(forRelationshipNamed: "tags") == [others[0].objectID])
        try board.theirs.delete(board.peg("0", in: board.theirs))
        board.theirs.processPendingChanges()
        if way != .parent { try board.theirs.save() }

        if way == .merge { context.mergeChanges(from: SavedChanges(deleted: [peg.objectID])) }
        context.processPendingChanges()

        #expect(context.registeredObject(for: peg.objectID) === peg && context.registeredObjects.contains(peg))
        #expect(peg.isDeleted && !peg.isFault && peg.managedObjectContext === context)
        #expect(peg.name == "0" && peg.a == 0)
        #expect(!context.hasChanges && context.deletedObjects.isEmpty)
        for (other, property) in zip(others, ["tagged", "fans"]) {
            #expect(try other.objectIDs(forRelationshipNamed: property).isEmpty)
        }
        #expect(try board.pegs(context).keys.sorted() == ["1", "2"])
        try context.save()
        #expect(context.recordedViolations.isEmpty)
    }

    // MARK: Relationships (faults 10 to 13)

    @Test(arguments: StoreKind.allCases)
    func `the policy rollback unlinks the other sides of an ordered relationship`(_ kind: StoreKind) throws {
        for (property, inverse) in [("queue", "head"), ("list", "listed")] {
            let board = try PegBoard(kind, count: 5, [("0", property, ["1", "2"])])
            board.mine.mergePolicy = .rollback
            try board.set("0", property, ["3", "2"], in: board.mine)
            try board.set("0", "a", ["9"], in: board.theirs)
            try board.theirs.save()

            try board.mine.save()

            let state = try board.state(of: board.mine)
            #expect(state["0"]?[property] == ["1", "2"])
            #expect(state["3"]?[inverse] == [])
            #expect(state["1"]?[inverse] == ["0"])
            try board.expectAgreement("\(property)")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `in an ordered many-to-many relationship no merge loses what one side added or brings back what it removed`(
        _ kind: StoreKind
    ) throws {
        for merging in Merging.allCases {
            let board = try PegBoard(kind, count: 6, [("0", "list", ["1", "2"])])
            board.mine.mergePolicy = .objectTrump
            board.mine.automaticallyMergesChangesFromParent = merging == .automatic
            try board.set("0", "list", ["1", "2", "3"], in: board.mine)
            try board.set("0", "list", ["4", "2"], in: board.theirs)
            try board.theirs.save()
            if merging == .refresh { board.mine.refreshAllObjects() }

            try board.mine.save()

            #expect(try board.stored()["0"]?["list"] == ["4", "2", "3"])
            try board.expectAgreement("\(merging)")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `under storeTrump the store's order stands where both sides moved destinations`(_ kind: StoreKind) throws {
        for property in ["queue", "list"] {
            let board = try PegBoard(kind, count: 6, [("0", property, ["1", "2", "3"])])
            board.mine.mergePolicy = .storeTrump
            try board.set("0", property, ["3", "2", "1", "4"], in: board.mine)
            try board.set("0", property, ["2", "1", "3", "5"], in: board.theirs)
            try board.theirs.save()

            try board.mine.save()

            #expect(try board.stored()["0"]?[property] == ["2", "1", "3", "5", "4"])
            try board.expectAgreement("\(property)")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `one-to-one relationships are equal at both ends after a refresh, a merge and under each policy`(
        _ kind: StoreKind
    ) throws {
        for policy in MergeTableTests.policies {
            for merging in Merging.allCases {
                for (here, there) in [("2", "1"), ("1", "1"), ("2", "3")] {
                    let board = try PegBoard(kind, count: 6, [("4", "mate", ["1"]), ("0", "mate", ["5"])])
                    board.mine.mergePolicy = policy
                    board.mine.automaticallyMergesChangesFromParent = merging == .automatic
                    try board.set("0", "mate", [here], in: board.mine)
                    try board.set("0", "mate", [there], in: board.theirs)
                    try board.set("3", "mate", ["2"], in: board.theirs)
                    try board.theirs.save()
                    if merging == .refresh { board.mine.refreshAllObjects() }
                    board.mine.processPendingChanges()
                    if merging != .none { #expect(PegBoard.oneSided(try board.state(of: board.mine)).isEmpty) }

                    if policy == .error, contextError({ try board.mine.save() }) != nil {
                        board.mine.refreshAllObjects()
                        #expect(PegBoard.oneSided(try board.state(of: board.mine)).isEmpty)
                        try board.mine.save()
                    } else {
                        try board.mine.save()
                    }

                    try board.expectAgreement("\(policy), \(merging), \(here) and \(there)")
                }
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a pending deletion takes the newer row that a merge brings`(_ kind: StoreKind) throws {
        for merging in [Merging.refresh, .automatic] {
            let board = try PegBoard(kind, count: 4, [("0", "mate", ["1"])])
            board.mine.automaticallyMergesChangesFromParent = merging == .automatic
            try board.mine.delete(board.peg("0", in: board.mine))
            board.mine.processPendingChanges()
            try board.set("0", "a", ["3"], in: board.theirs)
            try board.set("0", "mate", ["2"], in: board.theirs)
            try board.theirs.save()
            if merging == .refresh { board.mine.refreshAllObjects() }

            try board.mine.save()

            #expect(try board.stored().keys.sorted() == ["1", "2", "3"])
            try board.expectAgreement("\(merging)")
        }
    }

    @Test(arguments: StoreKind.allCases, [MergePolicy.objectTrump, .overwrite])
    func `deleting here what leads elsewhere one to one by now leaves nothing that leads to it`(
        _ kind: StoreKind, _ policy: MergePolicy
    ) throws {
        for (property, other) in [("mate", "2"), ("mateOf", "2"), ("mate", "1")] {
            let board = try PegBoard(kind, count: 4, [("0", "mate", ["1"])])
            board.mine.mergePolicy = policy
            try board.mine.delete(board.peg("0", in: board.mine))
            try board.set("0", "b", ["1"], in: board.theirs)
            try board.set("0", property, [other], in: board.theirs)
            try board.theirs.save()

            try board.mine.save()

            #expect(try board.stored().keys.sorted() == ["1", "2", "3"])
            try board.expectAgreement("\(property) \(other)")
        }
    }
}
