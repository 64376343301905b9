// Deletions that are undone after other contexts have saved changes of the deleted objects, or have deleted them too
// (MC-54 to MC-57): what was deleted comes back on top of what was merged, and both ends of each relationship agree.

import Espalier
import EspalierModel
import Testing

@Suite struct UndoneDeletionTests {
    /// A context that can undo and merges by itself, and others that save.
    private struct Scene {
        let sides: Sides
        let mine: ManagedObjectContext
        let undoManager = UndoStack()

        init(_ rules: [BeadProperty: DeleteRule] = [:]) throws {
            sides = try Sides(.memory, count: 6, rules)
            mine = sides.mine
            mine.automaticallyMergesChangesFromParent = true
            mine.undoManager = undoManager
        }

        /// Changes a property here, as an event.
        func change(_ number: Int, _ property: BeadProperty, _ values: [Int]) throws {
            try sides.change(number, property, values, in: mine)
            mine.processPendingChanges()
        }

        /// Changes a property elsewhere, and merges that.
        func store(_ number: Int, _ property: BeadProperty, _ values: [Int]) throws {
            try sides.store { try sides.change(number, property, values, in: $0) }
            mine.processPendingChanges()
        }

        /// Deletes a row elsewhere, and merges that.
        func storeDeletion(of number: Int) throws {
            try sides.store { try $0.delete(sides.board.bead(number, in: $0)) }
            mine.processPendingChanges()
        }

        func shown(_ number: Int, _ property: BeadProperty) throws -> [Int] { try sides.shown(number, property) }
    }

    // MARK: A merge is no action

    @Test(arguments: [false, true])
    func `a merge registers no action, and the undo of a deletion takes back what its rules have done again (MC-54)`(
        _ isSaved: Bool
    ) throws {
        let scene = try Scene([.queue: .cascade])
        try scene.sides.delete(0)
        try scene.change(5, .a, [7])
        try scene.mine.undo()
        let undoManager = scene.undoManager
        #expect(undoManager.undoCount == 1 && undoManager.redoCount == 1)

        try scene.sides.store { context in
            try scene.sides.change(0, .queue, [1, 2], in: context)
            try scene.sides.change(0, .tags, [3], in: context)
            try scene.sides.change(3, .b, [5], in: context)
        }
        scene.mine.processPendingChanges()

        #expect(scene.mine.deletedObjects.count == 3, "the rule has not reached what was related to a deleted object")
        #expect(try scene.shown(3, .tagged) == [] && scene.shown(3, .b) == [5])
        #expect(undoManager.undoCount == 1 && undoManager.redoCount == 1, "a merge is an action")
        try scene.mine.redo()
        #expect(try scene.shown(5, .a) == [7])
        try scene.mine.undo()
        if isSaved { try scene.mine.save() }
        for _ in 0..<2 {
            try scene.mine.undo()
            #expect(try scene.shown(0, .queue).sorted() == [1, 2] && scene.shown(0, .tags) == [3])
            #expect(try scene.shown(1, .head) == [0] && scene.shown(2, .head) == [0])
            #expect(try scene.shown(3, .tagged) == [0] && scene.shown(3, .b) == [5], "a merged value was undone")
            try scene.mine.redo()
            #expect(scene.mine.deletedObjects.count == (isSaved ? 0 : 3) && undoManager.undoCount == 1)
            #expect(throws: ContextError.self) { try scene.shown(1, .head) }
            #expect(try scene.shown(3, .tagged) == [])
        }
        try scene.mine.undo()
        try scene.mine.saveAndCompare()
    }

    @Test func `an undo changes an object that a merge has made delete rules reach meanwhile (MC-56)`() throws {
        let scene = try Scene([.queue: .cascade])
        try scene.sides.delete(0)
        try scene.change(1, .b, [4])
        try scene.store(0, .queue, [1])
        #expect(scene.mine.deletedObjects.count == 2)

        try scene.mine.undo()
        #expect(scene.mine.recordedViolations.isEmpty, "an undo was refused, and the next save fails")
        try scene.mine.undo()

        #expect(try scene.shown(1, .b) == [] && scene.shown(1, .head) == [0])
        try scene.mine.saveAndCompare()
    }

    @Test func `a transaction that fails leaves no steps of delete rules that ran again in it (MC-56, SD-15)`() throws {
        let scene = try Scene()
        let board = scene.sides.board
        let (deleted, invalid) = (try board.bead(0, in: scene.mine), try board.bead(5, in: scene.mine))
        scene.mine.automaticallyMergesChangesFromParent = false
        try scene.sides.delete(0)
        func relateAndBreakRule() throws {
            try scene.sides.store { try scene.sides.change(0, .tags, [3], in: $0) }
            scene.mine.refresh(deleted, mergesChanges: true)
            try invalid.setValue(.null, forKey: "name")
        }

        #expect(throws: ContextError.self) { try scene.mine.transaction { try relateAndBreakRule() } }
        try scene.mine.undo()

        #expect(try scene.shown(0, .tags) == [] && scene.shown(3, .tagged) == [])
        #expect(deleted.isDeleted == false && scene.undoManager.undoCount == 0)
        scene.mine.automaticallyMergesChangesFromParent = true
        scene.mine.refreshAllObjects()
        #expect(try scene.shown(0, .tags) == [3] && scene.shown(3, .tagged) == [0])
        try scene.mine.saveAndCompare()
    }

    // MARK: Values

    @Test func `what was saved below a deletion is not overwritten in silence after its undo (MC-56, MP-01)`() throws {
        let scene = try Scene()
        try scene.change(0, .a, [5])
        try scene.change(0, .b, [3])
        try scene.change(0, .b, [])
        try scene.sides.delete(0)
        try scene.sides.store { context in
            try scene.sides.change(0, .a, [7], in: context)
            try scene.sides.change(0, .b, [8], in: context)
        }

        try scene.mine.undo()

        #expect(try scene.shown(0, .a) == [5])
        #expect(try scene.shown(0, .b) == [8], "a value that was set back hides the one that was merged")
        do throws(ContextError) {
            try scene.mine.save()
            Issue.record("the save has overwritten what another context has saved")
        } catch {
            guard case .conflicts(let conflicts) = error else { throw error }
            #expect(conflicts.flatMap(\.properties).contains { $0.name == "a" && $0.stored == .integer(7) })
        }
        scene.mine.mergePolicy = .storeTrump
        try scene.mine.saveAndCompare()
        #expect(try scene.shown(0, .a) == [7])
    }

    // MARK: Relationships

    @Test func `an object whose deletion is undone has what was added to its list, and its own order (MC-56)`() throws {
        let scene = try Scene([.queue: .noAction])
        try scene.store(0, .queue, [1, 2])
        try scene.change(0, .queue, [2, 1])
        try scene.sides.delete(0)
        try scene.store(0, .queue, [1, 2, 3])

        try scene.mine.undo()

        #expect(try scene.shown(0, .queue) == [2, 1, 3] && scene.shown(3, .head) == [0])
        try scene.mine.saveAndCompare()
    }

    @Test(arguments: [false, true])
    func `a relationship that was set here and elsewhere follows the store below a deletion, at both ends (MC-56)`(
        _ deletesBoth: Bool
    ) throws {
        let scene = try Scene([.best: .deny])
        try scene.change(2, .best, [3])
        try scene.sides.delete(2)
        if deletesBoth { try scene.sides.delete(3) }
        // The same value on both sides is no change any more.
        try scene.store(2, .best, [3])
        try scene.store(2, .best, [1])

        if deletesBoth { try scene.mine.undo() }
        try scene.mine.undo()

        #expect(try scene.shown(2, .best) == [1] && scene.shown(1, .fans) == [2])
        #expect(try scene.shown(3, .fans) == [], "the former end has an object that leads elsewhere")
        try scene.mine.saveAndCompare()
    }

    @Test func `a relationship that both sides have changed keeps this one's value, at both ends (MC-56)`() throws {
        let scene = try Scene()
        try scene.change(2, .best, [3])
        try scene.sides.delete(2)
        try scene.store(2, .best, [1])

        try scene.mine.undo()

        #expect(try scene.shown(2, .best) == [3] && scene.shown(3, .fans) == [2])
        #expect(try scene.shown(1, .fans) == [], "the stored end has an object that leads elsewhere")
        scene.mine.mergePolicy = .objectTrump
        try scene.mine.saveAndCompare()
    }

    @Test func `an unsaved relationship is there again after delete rules have run twice (MC-56)`() throws {
        let scene = try Scene()
        try scene.change(1, .best, [5])
        try scene.sides.delete(1)
        try scene.store(1, .b, [9])

        try scene.mine.undo()

        #expect(try scene.shown(1, .best) == [5] && scene.shown(5, .fans) == [1])
        try scene.mine.saveAndCompare()
    }

    @Test(arguments: [false, true])
    func `two sets agree after an undone deletion and a merge, whatever the store had of them before (MC-56)`(
        _ mergesBelow: Bool
    ) throws {
        let scene = try Scene()
        try scene.change(0, .friends, [2, 3])
        if mergesBelow { try scene.sides.delete(0) }
        try scene.store(0, .friends, [2])
        if !mergesBelow { try scene.sides.delete(0) }
        try scene.mine.undo()
        #expect(try scene.shown(0, .friends) == [2, 3])

        try scene.store(0, .friends, [])

        #expect(try scene.shown(0, .friends) == [3] && scene.shown(3, .friends) == [0])
        #expect(try scene.shown(2, .friends) == [])
        try scene.mine.saveAndCompare()
    }

    @Test func `what an undo has only moved is moved back by a redo (MC-57)`() throws {
        let scene = try Scene()
        try scene.store(0, .queue, [1, 2, 3])
        try scene.change(1, .head, [])
        try scene.mine.save()
        try scene.store(0, .queue, [2, 3, 1])

        try scene.mine.undo()
        #expect(try scene.shown(0, .queue) == [1, 2, 3])
        try scene.mine.redo()

        #expect(try scene.shown(0, .queue) == [2, 3, 1])
        try scene.mine.saveAndCompare()
    }

    // MARK: Rows that another context has deleted, too

    @Test(arguments: [false, true])
    func `two objects lead to each other again, although another context has deleted one of them, too (MO-24, MC-56)`(
        _ isFirstElsewhere: Bool
    ) throws {
        let scene = try Scene([.tags: .noAction])
        try scene.change(3, .tagged, [2])
        try scene.sides.delete(2)
        if isFirstElsewhere { try scene.storeDeletion(of: 3) }
        try scene.sides.delete(3)
        if !isFirstElsewhere { try scene.storeDeletion(of: 3) }

        for _ in 0..<2 { try scene.mine.undo() }

        #expect(try scene.shown(3, .tagged) == [2])
        #expect(try scene.shown(2, .tags) == [3], "one end leads to an object that does not lead back")
        try scene.mine.saveAndCompare()
    }

    @Test func `what an undo has related to a deleted object is a change of that, once it is back (MC-56)`() throws {
        let scene = try Scene([.tags: .noAction])
        try scene.store(3, .tagged, [2])
        #expect(try scene.shown(3, .tagged) == [2])
        let bead = try scene.sides.board.bead(2, in: scene.mine)
        try scene.change(3, .b, [1])
        try scene.sides.delete(2)
        try scene.storeDeletion(of: 3)
        try scene.sides.delete(3)

        for _ in 0..<2 { try scene.mine.undo() }

        #expect(try scene.shown(3, .tagged) == [2] && scene.shown(2, .tags) == [3])
        #expect(bead.hasPersistentChangedValues && scene.mine.updatedObjects.contains(bead))
        try scene.mine.saveAndCompare()
    }

    @Test func `undoing the deletion of an object without a row relates nothing that others have led away (MC-56)`()
        throws
    {
        let scene = try Scene()
        try scene.store(0, .fans, [1, 2])
        #expect(try scene.shown(0, .fans) == [1, 2])
        try scene.change(0, .b, [4])
        try scene.storeDeletion(of: 0)
        #expect(try scene.shown(0, .b) == [4] && scene.shown(1, .best) == [])
        try scene.sides.delete(0)

        try scene.mine.undo()

        #expect(try scene.shown(0, .b) == [4] && scene.shown(0, .fans) == [])
        #expect(try scene.shown(1, .best) == [], "an undo overwrites what the undone action has not changed")
        try scene.mine.saveAndCompare()
    }

    @Test func `an object without a row comes back to its place in an order that its deletion has deleted (MC-56)`()
        throws
    {
        let scene = try Scene([.head: .cascade])
        try scene.change(1, .a, [3])
        try scene.storeDeletion(of: 1)
        try scene.change(2, .queue, [4, 1, 0])
        try scene.sides.delete(1)
        #expect(throws: ContextError.self) { try scene.shown(2, .queue) }

        try scene.mine.undo()

        #expect(try scene.shown(2, .queue) == [4, 1, 0] && scene.shown(1, .head) == [2])
        try scene.mine.saveAndCompare()
    }

    @Test func `an object that comes back leaves alone a deleted one that others have led away (MC-56)`() throws {
        let scene = try Scene([.best: .noAction])
        try scene.store(1, .best, [0])
        #expect(try scene.shown(0, .fans) == [1])
        try scene.sides.delete(1)
        try scene.sides.delete(0)
        try scene.storeDeletion(of: 0)
        try scene.store(1, .best, [3])

        for _ in 0..<2 { try scene.mine.undo() }

        #expect(try scene.shown(1, .best) == [3] && scene.shown(3, .fans) == [1])
        #expect(try scene.shown(0, .fans) == [], "one end leads to an object that does not lead back")
        try scene.mine.saveAndCompare()
    }
}
