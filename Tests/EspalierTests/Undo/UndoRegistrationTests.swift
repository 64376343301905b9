// Changes that are made while undo registration is off, or whose steps are dropped for that: they stay, and what is
// undone beside them leaves both ends of relationships equal and the context savable (MC-54, MO-24).

import Espalier
import EspalierModel
import Testing

@Suite struct UndoRegistrationTests {
    /// A context that can undo, and its beads.
    private struct Scene {
        let board: BeadBoard
        let context: ManagedObjectContext
        let undoManager = UndoStack()
        let beads: [Bead]

        /// - Parameter values: the destinations of properties of beads when the context gets its undo manager.
        init(_ rules: [BeadProperty: DeleteRule] = [:], _ values: [(Int, BeadProperty, [Int])] = []) throws {
            let board = try BeadBoard(.memory, count: 4, rules: rules)
            let context = ManagedObjectContext(board.coordinator)
            (self.board, self.context) = (board, context)
            beads = try (0..<4).map { try board.bead($0, in: context) }
            for (number, property, others) in values { try set(number, property, others) }
            try context.save()
            context.undoManager = undoManager
        }

        func set(_ number: Int, _ property: BeadProperty, _ others: [Int]) throws {
            let objects = others.map { beads[$0] }
            try beads[number].setValue(
                property.isToOne ? .toOne(objects.first) : .toMany(objects), forKey: property.name)
        }

        func setA(_ number: Int, _ value: Int64) throws {
            try beads[number].setValue(.integer(value), forKey: "a")
        }

        func shown(_ number: Int, _ property: BeadProperty) throws -> [Int] { try board.shown(beads[number], property) }

        /// Makes changes that cannot be undone, as MC-54 says.
        func withoutRegistration(endsBefore: Bool = true, _ body: () throws -> Void) throws {
            if endsBefore { context.processPendingChanges() }
            undoManager.disableUndoRegistration()
            try body()
            context.processPendingChanges()
            try undoManager.enableUndoRegistration()
        }

        /// Ends the event while registration is off.
        func endWithoutRegistration() throws { try withoutRegistration(endsBefore: false) {} }

        /// Saves, and requires the store to be whole.
        func save() throws {
            #expect(context.recordedViolations.isEmpty)
            try context.saveAndCompare()
            let (findings, fault) = (try board.findings(), BeadBoard.fault(in: try board.stored()))
            #expect(findings.isEmpty && fault == nil)
        }
    }

    @Test(arguments: [BeadProperty.best, .head, .mate, .friend])
    func `an undo leaves both ends equal where the relationship has changed without registration (MC-54, MO-24)`(
        _ property: BeadProperty
    ) throws {
        let scene = try Scene()
        let inverse = try #require(property.inverse)
        try scene.set(0, property, [1])
        try scene.withoutRegistration { try scene.set(0, property, [2]) }

        try scene.context.undo()

        #expect(try scene.shown(0, property) == [])
        for number in [1, 2] { #expect(try scene.shown(number, inverse) == [], "\(number) leads to 0") }
        try scene.save()
        try scene.context.redo()
        #expect(try scene.shown(0, property) == [2] && scene.shown(2, inverse) == [0])
        try scene.save()
    }

    @Test(arguments: [BeadProperty.best, .head, .mate, .friend])
    func `what is dropped because registration is off when its event ends has no step (MC-54, MO-24)`(
        _ property: BeadProperty
    ) throws {
        let scene = try Scene()
        let inverse = try #require(property.inverse)
        try scene.set(0, property, [1])
        scene.context.processPendingChanges()
        try scene.set(0, property, [2])
        try scene.endWithoutRegistration()
        #expect(scene.undoManager.undoCount == 1)

        try scene.context.undo()

        #expect(try scene.shown(0, property) == [] && scene.shown(2, inverse) == [])
        try scene.save()
    }

    @Test(arguments: [false, true], [false, true])
    func `an object that was deleted without registration stays deleted, and an undo of earlier changes saves (MC-54)`(
        _ isNew: Bool, _ isDropped: Bool
    ) throws {
        let scene = try Scene()
        let bead = isNew ? Bead(context: scene.context) : scene.beads[0]
        scene.context.processPendingChanges()
        for value in [Int64(6), 7] {
            try bead.setValue(.integer(value), forKey: "a")
            scene.context.processPendingChanges()
        }
        if isDropped {
            try scene.context.delete(bead)
            try scene.endWithoutRegistration()
        } else {
            try scene.withoutRegistration { try scene.context.delete(bead) }
        }

        while scene.undoManager.canUndo { try scene.context.undo() }

        #expect(isNew ? bead.managedObjectContext == nil : bead.isDeleted)
        try scene.save()
        while scene.undoManager.canRedo { try scene.context.redo() }
        try scene.save()
        #expect(try scene.board.stored().keys.sorted() == (isNew ? [0, 1, 2, 3] : [1, 2, 3]))
    }

    @Test(arguments: BeadProperty.relationships, [DeleteRule.nullify, .noAction])
    func `an undo relates nothing to an object that was deleted without registration (MC-54)`(
        _ property: BeadProperty, _ rule: DeleteRule
    ) throws {
        let rules = property.inverse.map { [$0: rule] } ?? [:]
        for isDropped in [false, true] {
            let scene = try Scene(rules, [(0, property, [1])])
            try scene.set(0, property, [])
            if isDropped {
                scene.context.processPendingChanges()
                try scene.context.delete(scene.beads[1])
                try scene.endWithoutRegistration()
            } else {
                try scene.withoutRegistration { try scene.context.delete(scene.beads[1]) }
            }

            try scene.context.undo()

            #expect(try scene.beads[1].isDeleted && scene.shown(0, property) == [], "is dropped: \(isDropped)")
            try scene.save()
            #expect(try scene.board.stored()[0]?[property] == [], "is dropped: \(isDropped)")
            try scene.context.redo()
            try scene.save()
        }
    }

    @Test func `the rules of a deletion without registration have no steps, also if they run after that (MC-54)`()
        throws
    {
        let values: [(Int, BeadProperty, [Int])] = [(0, .best, [1]), (2, .queue, [1, 3]), (3, .hint, [0])]
        let scene = try Scene([.fans: .cascade], values)
        let new = Bead(context: scene.context)
        try scene.beads[3].setValue(.toOne(new), forKey: "mate")
        try scene.beads[3].setValue(.toMany([new]), forKey: "marks")
        scene.context.processPendingChanges()
        scene.undoManager.disableUndoRegistration()
        try scene.context.delete(scene.beads[1])
        try scene.context.delete(new)
        try scene.undoManager.enableUndoRegistration()

        scene.context.processPendingChanges()

        #expect(scene.beads[0].isDeleted && scene.undoManager.undoCount == 1)
        #expect(try scene.shown(2, .queue) == [3] && scene.shown(3, .mate) == [] && scene.shown(3, .marks) == [])
        try scene.context.undo()
        #expect(scene.beads[0].isDeleted && scene.beads[1].isDeleted && new.managedObjectContext == nil)
        #expect(try scene.shown(2, .queue) == [3])
        try scene.save()
        #expect(try scene.board.stored().keys.sorted() == [2, 3])
    }

    @Test func `cascades of a deletion without registration have no steps beyond rows that nobody holds (MC-54)`()
        throws
    {
        let board = try BeadBoard(.memory, count: 3, rules: [.fans: .cascade])
        let maker = ManagedObjectContext(board.coordinator)
        for (number, best) in [(0, 1), (2, 0)] {
            try board.bead(number, in: maker).setValue(.toOne(board.bead(best, in: maker)), forKey: "best")
        }
        try maker.save()
        let (context, undoManager) = (ManagedObjectContext(board.coordinator), UndoStack())
        context.undoManager = undoManager
        let (first, last) = (try board.bead(1, in: context), try board.bead(2, in: context))
        undoManager.disableUndoRegistration()
        try context.delete(first)
        try undoManager.enableUndoRegistration()

        context.processPendingChanges()

        #expect(last.isDeleted && !undoManager.canUndo)
        try context.save()
        #expect(try board.stored().isEmpty)
    }

    /// The undo manager of a context before it gets another one.
    enum Former: CaseIterable {
        case none, same, other
        /// Another one, which the closure of a transaction replaces that fails.
        case otherBeforeTransaction
    }

    @Test(arguments: Former.allCases, [DeleteRule.nullify, .cascade])
    func `an undo manager that is set after a deletion undoes nothing of its delete rules (MC-53, MC-54)`(
        _ former: Former, _ rule: DeleteRule
    ) throws {
        struct Failure: Error {}
        let scene = try Scene([.fans: rule], [(0, .best, [1])])
        if former != .same { scene.context.undoManager = former == .none ? nil : UndoStack() }
        scene.context.propagatesDeletesAtEndOfEvent = false
        try scene.context.delete(scene.beads[1])
        scene.context.processPendingChanges()
        func setAndFail() throws {
            scene.context.undoManager = scene.undoManager
            throw Failure()
        }
        if former == .otherBeforeTransaction {
            #expect(throws: Failure.self) { try scene.context.transaction { try setAndFail() } }
        } else {
            scene.context.undoManager = nil
            scene.context.undoManager = scene.undoManager
        }
        scene.context.propagatesDeletesAtEndOfEvent = true
        try scene.setA(2, 7)
        scene.context.processPendingChanges()
        #expect(scene.undoManager.undoCount == 1)

        try scene.context.undo()

        #expect(try scene.beads[1].isDeleted && scene.shown(2, .a) == [0])
        if rule == .cascade {
            #expect(scene.beads[0].isDeleted)
        } else {
            #expect(try scene.shown(0, .best) == [])
        }
        try scene.save()
        #expect(try scene.board.stored().keys.sorted() == (rule == .cascade ? [2, 3] : [0, 2, 3]))
    }

    @Test func `an undo passes by an object whose row another context has deleted, and the context can save (MC-56)`()
        throws
    {
        let scene = try Scene()
        try scene.setA(0, 7)
        try scene.setA(1, 7)
        try scene.context.save()
        let other = ManagedObjectContext(scene.board.coordinator)
        try other.delete(scene.board.bead(0, in: other))
        try other.save()
        // The context moves to the newest generation, and the object is a fault.
        scene.context.refresh(scene.beads[0], mergesChanges: false)

        try scene.context.undo()

        #expect(try scene.beads[0].isDeleted && scene.shown(1, .a) == [0])
        try scene.save()
    }

    @Test(arguments: [false, true])
    func `what registration does not see within an event stays when the event is undone (MC-54)`(
        _ isSaved: Bool
    ) throws {
        let scene = try Scene()
        try scene.set(0, .tags, [1])
        scene.undoManager.disableUndoRegistration()
        try scene.set(2, .best, [3])
        try scene.set(0, .head, [2])
        try scene.undoManager.enableUndoRegistration()
        try scene.set(0, .head, [1])
        if isSaved { try scene.save() } else { scene.context.processPendingChanges() }

        try scene.context.undo()

        #expect(try scene.shown(0, .tags) == [] && scene.shown(1, .tagged) == [])
        #expect(try scene.shown(2, .best) == [3] && scene.shown(3, .fans) == [2])
        #expect(try scene.shown(0, .head) == [2] && scene.shown(2, .queue) == [0] && scene.shown(1, .queue) == [])
        try scene.save()
    }
}
