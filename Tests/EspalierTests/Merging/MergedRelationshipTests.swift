// Relationships that two contexts change at the same time, as walks have found them: lists that are assigned what they
// have, rows that are gone or inserted again, sets and lists merged at one end only, and rules that run again.

import Espalier
import EspalierModel
import EspalierStore
import Testing

@Suite struct MergedRelationshipTests {
    private static let policies: [MergePolicy] = [.error, .storeTrump, .objectTrump, .overwrite, .rollback]

    // MARK: Lists

    @Test(arguments: StoreKind.allCases, policies)
    func `a list that is assigned what it has is no change, and overwrites nothing`(
        _ kind: StoreKind, _ policy: MergePolicy
    ) throws {
        let board = try PegBoard(kind, count: 3, [("0", "list", ["1", "2"]), ("0", "queue", ["2", "1"])])
        board.mine.mergePolicy = policy
        try board.set("0", "list", ["1", "2"], in: board.mine)
        try board.set("0", "queue", ["2", "1"], in: board.mine)
        try board.set("0", "a", ["5"], in: board.theirs)
        try board.set("0", "queue", ["1", "2"], in: board.theirs)
        try board.theirs.save()

        try board.mine.save()

        #expect(try board.stored()["0"]?["a"] == ["5"])
        #expect(try board.stored()["0"]?["queue"] == ["1", "2"])
    }

    @Test(arguments: StoreKind.allCases)
    func `an object that a policy leads back to its list stands where it stood there`(_ kind: StoreKind) throws {
        let board = try PegBoard(kind, count: 5)
        board.mine.mergePolicy = .storeTrump
        board.mine.automaticallyMergesChangesFromParent = true
        try board.set("4", "head", ["2"], in: board.mine)
        try board.set("3", "queue", ["1", "4", "0"], in: board.theirs)
        try board.theirs.save()
        board.mine.processPendingChanges()

        try board.mine.save()

        #expect(try board.stored()["3"]?["queue"] == ["1", "4", "0"])
        try board.expectAgreement("led back")
    }

    @Test(arguments: StoreKind.allCases)
    func `what both sides have added to a list can be taken out at its other end`(_ kind: StoreKind) throws {
        let board = try PegBoard(kind, count: 4)
        let pegs = try board.pegs(board.mine)
        try board.set("3", "listed", ["1"], in: board.mine)
        try board.set("1", "list", ["3"], in: board.theirs)
        try board.theirs.save()
        board.mine.refreshAllObjects()

        try board.set("3", "listed", ["0"], in: board.mine)

        #expect(try board.state(of: board.mine)["3"]?["listed"] == ["0"])
        try board.mine.save()
        #expect(try board.stored()["3"]?["listed"] == ["0"])
        try board.expectAgreement("\(pegs.count) pegs")
    }

    @Test(arguments: StoreKind.allCases)
    func `a list that was read after its other ends has nobody twice`(_ kind: StoreKind) throws {
        let board = try PegBoard(kind, count: 3)
        let pegs = try board.pegs(board.mine)
        let (owner, member) = (try #require(pegs["0"]), try #require(pegs["2"]))
        #expect(try member.objectIDs(forRelationshipNamed: "head").isEmpty)
        try board.set("0", "queue", ["2"], in: board.theirs)
        try board.theirs.save()

        try member.setValue(.toOne(owner), forKey: "head")

        #expect(try owner.objectIDs(forRelationshipNamed: "queue") == [member.objectID])
    }

    // MARK: Sets

    @Test(arguments: StoreKind.allCases)
    func `both ends of a set agree after one of them alone was refreshed below its changes`(_ kind: StoreKind) throws {
        let board = try PegBoard(kind, count: 5)
        let pegs = try board.pegs(board.mine)
        try board.set("2", "tags", ["1"], in: board.mine)
        board.mine.refresh(try #require(pegs["2"]), mergesChanges: true)
        try board.set("2", "tags", ["1", "4"], in: board.theirs)
        try board.theirs.save()
        try board.set("1", "tagged", ["0"], in: board.mine)

        board.mine.refreshAllObjects()

        #expect(PegBoard.oneSided(try board.state(of: board.mine)).isEmpty)
        try board.mine.save()
        // A member that was added and taken out again is no change: one that another context has added stays.
        #expect(try board.stored()["2"]?["tags"] == ["1", "4"])
        try board.expectAgreement("saved")
    }

    @Test(arguments: StoreKind.allCases)
    func `both ends agree after a refresh although a member had an older row when it left a list`(
        _ kind: StoreKind
    ) throws {
        for (list, end, isAssigned) in [("fans", "best", true), ("fans", "best", false), ("queue", "head", true)] {
            let board = try PegBoard(kind, count: 4, [("2", end, ["1"])])
            let pegs = try board.pegs(board.mine)
            #expect(try board.state(of: board.mine)["2"]?[end] == ["1"])
            try board.set("2", end, ["3"], in: board.theirs)
            try board.theirs.save()
            // A save moves the context to the newest generation, in which it reads lists, and rows only anew.
            try board.set("0", "a", ["5"], in: board.mine)
            try board.mine.save()

            if isAssigned {
                try board.set("3", list, [], in: board.mine)
            } else {
                try #require(pegs["3"]).remove([try #require(pegs["2"])], fromRelationshipNamed: list)
            }
            board.mine.refreshAllObjects()

            #expect(PegBoard.oneSided(try board.state(of: board.mine)).isEmpty, "\(list)")
            try board.mine.save()
            try board.expectAgreement("\(list)")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a refresh does not lead a list back to a member that is deleted here`(_ kind: StoreKind) throws {
        let board = try PegBoard(kind, count: 4, [("2", "best", ["3"]), ("1", "head", ["3"])])
        let pegs = try board.pegs(board.mine)
        let owner = try #require(pegs["3"])
        for name in ["1", "2"] { try board.mine.delete(try #require(pegs[name])) }
        board.mine.processPendingChanges()
        try board.set("3", "a", ["5"], in: board.theirs)
        try board.theirs.save()

        board.mine.refreshAllObjects()

        #expect(owner.a == 5)
        for list in ["fans", "queue"] { #expect(try owner.objectIDs(forRelationshipNamed: list).isEmpty, "\(list)") }
        try board.mine.save()
        try board.expectAgreement("saved")
    }

    @Test(arguments: StoreKind.allCases)
    func `an unsaved object that left a refreshed set is not sent to the store`(_ kind: StoreKind) throws {
        let board = try PegBoard(kind, count: 3)
        let pegs = try board.pegs(board.mine)
        let owner = try #require(pegs["2"])
        try board.set("2", "tags", ["1"], in: board.mine)
        board.mine.refreshAllObjects()
        let unsaved = Peg(context: board.mine)
        try owner.add([unsaved], toRelationshipNamed: "tags")
        try board.mine.delete(unsaved)

        try board.mine.save()

        #expect(try board.stored()["2"]?["tags"] == ["1"])
        try board.expectAgreement("saved")
    }

    @Test(arguments: StoreKind.allCases)
    func `a locked object is checked although what is changed of it writes no row`(_ kind: StoreKind) throws {
        let board = try PegBoard(kind, count: 3)
        let pegs = try board.pegs(board.mine)
        let (owner, locked) = (try #require(pegs["2"]), try #require(pegs["1"]))
        try board.mine.detectConflicts(for: locked)
        try owner.add([locked], toRelationshipNamed: "tags")
        try board.set("1", "a", ["5"], in: board.theirs)
        try board.theirs.save()

        let error = contextError { try board.mine.save() }

        guard case .conflicts(let conflicts)? = error else {
            Issue.record("no conflict: \(error.map { "\($0)" } ?? "saved")")
            return
        }
        #expect(conflicts.map(\.object) == [locked.objectID])
        #expect(try board.stored()["2"]?["tags"] == [])
    }

    // MARK: Rows that are gone or come again

    @Test(arguments: StoreKind.allCases)
    func `an object whose row is gone reads as deleted after a save or rollback without a change of it`(
        _ kind: StoreKind
    ) throws {
        for isSaved in [true, false] {
            let board = try PegBoard(kind, count: 2)
            board.mine.automaticallyMergesChangesFromParent = true
            let pegs = try board.pegs(board.mine)
            let (gone, other) = (try #require(pegs["0"]), try #require(pegs["1"]))
            try gone.add([other], toRelationshipNamed: "tags")
            try board.theirs.delete(board.peg("0", in: board.theirs))
            try board.theirs.save()
            board.mine.processPendingChanges()
            #expect(!gone.isDeleted)
            try gone.remove([other], fromRelationshipNamed: "tags")

            if isSaved { try board.mine.save() } else { board.mine.rollback() }

            #expect(gone.isDeleted)
            try board.expectAgreement("saved: \(isSaved)")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a row that was deleted and inserted again between two merges is read anew`(_ kind: StoreKind) throws {
        for isChangedHere in [true, false] {
            let board = try PegBoard(kind, count: 2)
            board.mine.automaticallyMergesChangesFromParent = true
            let pegs = try board.pegs(board.mine)
            let peg = try #require(pegs["0"])
            #expect(peg.a == 0)
            if isChangedHere { peg.b = 3 }
            let third = ManagedObjectContext(board.coordinator)
            third.mergePolicy = .objectTrump
            try board.set("0", "a", ["7"], in: third)
            try board.theirs.delete(board.peg("0", in: board.theirs))
            try board.theirs.save()
            try third.save()
            try board.set("0", "best", ["1"], in: third)
            try third.save()

            board.mine.processPendingChanges()

            #expect(peg.a == 7 && !peg.isDeleted)
            try board.mine.save()
            #expect(try board.stored()["0"]?["b"] == [isChangedHere ? "3" : "0"])
            try board.expectAgreement("changed: \(isChangedHere)")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `refreshing all objects forgets what was loaded ahead for others`(_ kind: StoreKind) throws {
        let board = try PegBoard(kind, count: 3)
        var pegs = try board.pegs(board.mine)
        _ = try board.state(of: board.mine)
        pegs["0"] = nil
        board.mine.processPendingChanges()
        try board.set("0", "tags", ["1"], in: board.theirs)
        try board.theirs.save()

        board.mine.refreshAllObjects()

        #expect(try board.state(of: board.mine)["0"]?["tags"] == ["1"])
        #expect(pegs.count == 2)
    }

    @Test(arguments: StoreKind.allCases)
    func `a fault that is gone gives up what was related to it, as the policy says`(_ kind: StoreKind) throws {
        for policy in Self.policies {
            let board = try PegBoard(kind, count: 2)
            board.mine.mergePolicy = policy
            let pegs = try board.pegs(board.mine)
            let gone = try #require(pegs["0"])
            board.mine.refreshAllObjects()
            try board.theirs.delete(board.peg("0", in: board.theirs))
            try board.theirs.save()
            try gone.add([gone], toRelationshipNamed: "tagged")
            #expect(gone.a == 0)

            let error = contextError { try board.mine.save() }

            #expect((error != nil) == (policy == .error), "\(policy)")
            #expect(board.mine.hasChanges == (policy == .error), "\(policy)")
        }
    }

    // MARK: Delete rules

    @Test(arguments: StoreKind.allCases)
    func `a relationship without inverse to what the same save deletes is left out, and nothing else`(
        _ kind: StoreKind
    ) throws {
        for policy in Self.policies {
            let board = try BeadBoard(kind == .inMemory ? .plain : .memory, count: 3)
            let context = ManagedObjectContext(board.coordinator)
            context.mergePolicy = policy
            let (bead, gone, other) = (
                try board.bead(0, in: context), try board.bead(1, in: context), try board.bead(2, in: context)
            )
            let new = Bead(context: context)
            for owner in [bead, new] {
                try owner.setValue(.toOne(gone), forKey: "hint")
                try owner.add([gone, other], toRelationshipNamed: "marks")
                try owner.setValue(.integer(3), forKey: "b")
            }
            try context.delete(gone)

            try context.save()

            for number in [0, board.number(of: new.objectID)] {
                let row = try board.stored()[number]
                #expect(row?[.b] == [3] && row?[.hint] == [] && row?[.marks] == [2], "\(policy)")
            }
            #expect(BeadBoard.fault(in: try board.stored()) == nil)
            #expect(try board.shown(bead, .hint).isEmpty && board.shown(bead, .marks) == [2])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `an owner and its destination that are both gone are given up`(_ kind: StoreKind) throws {
        for policy in Self.policies {
            let board = try BeadBoard(kind == .inMemory ? .plain : .memory, count: 2)
            let (context, other) = (ManagedObjectContext(board.coordinator), ManagedObjectContext(board.coordinator))
            context.mergePolicy = policy
            let owner = try board.bead(0, in: context)
            try owner.add([board.bead(1, in: context)], toRelationshipNamed: "marks")
            context.processPendingChanges()
            for number in [0, 1] { try other.delete(board.bead(number, in: other)) }
            try other.save()

            let error = contextError { try context.save() }

            #expect((error != nil) == (policy == .error), "\(policy)")
            #expect(try board.stored().isEmpty, "\(policy)")
            #expect(context.hasChanges == (policy == .error), "\(policy)")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a deletion that waits takes along what a merge adds to its sets`(_ kind: StoreKind) throws {
        let board = try BeadBoard(kind == .inMemory ? .plain : .memory, count: 3, rules: [.tags: .cascade])
        let (context, other) = (ManagedObjectContext(board.coordinator), ManagedObjectContext(board.coordinator))
        context.automaticallyMergesChangesFromParent = true
        let (owner, member) = (try board.bead(0, in: context), try board.bead(1, in: context))
        try context.delete(owner)
        context.processPendingChanges()
        try board.bead(0, in: other).add([board.bead(1, in: other)], toRelationshipNamed: "tags")
        try other.save()

        context.processPendingChanges()

        #expect(context.deletedObjects == [owner, member])
        try context.save()
        #expect(try Set(board.stored().keys) == [2])
    }

    @Test(arguments: StoreKind.allCases)
    func `a deletion by rule noAction leads nobody away whom somebody else has related`(_ kind: StoreKind) throws {
        for policy in Self.policies {
            let board = try BeadBoard(kind == .inMemory ? .plain : .memory, count: 3, rules: [.fans: .noAction])
            let (context, other) = (ManagedObjectContext(board.coordinator), ManagedObjectContext(board.coordinator))
            context.mergePolicy = policy
            let (gone, member) = (try board.bead(0, in: context), try board.bead(1, in: context))
            #expect(try board.shown(gone, .fans).isEmpty && board.shown(member, .best).isEmpty)
            try context.delete(gone)
            context.processPendingChanges()
            try member.setValue(.integer(2), forKey: "a")
            try board.bead(1, in: other).setValue(.toOne(board.bead(0, in: other)), forKey: "best")
            try other.save()
            context.refresh(member, mergesChanges: true)

            let error = contextError { try context.save() }

            #expect(error != nil, "\(policy)")
            #expect(try board.stored()[1]?[.best] == [0], "\(policy)")
        }
    }
}
