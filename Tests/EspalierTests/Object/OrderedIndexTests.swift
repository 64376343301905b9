// Indexes of live ordered collections that are no longer valid: `object(at:)` returns nil, and the subscript stops the
// program with the reason.

import Espalier
import EspalierModel
import EspalierStore
import Testing

@Suite struct OrderedIndexTests {
    static let reasons = ["shorter here", "shorter after a merge", "reset", "closed"]

    /// A member with three duties whose list no longer has the index 2, for a reason.
    private struct Scene {
        let stack: Stack
        let context: ManagedObjectContext
        let member: Member

        init(_ reason: String) throws {
            stack = try Stack(.btree, classes: teamClasses)
            let writer = stack.newContext()
            let written = Member(context: writer)
            for number in 0..<3 {
                let duty = Duty(context: writer)
                duty.number = number
                written.duties.append(duty)
            }
            try writer.save()
            context = stack.newContext()
            member = try #require(try context.existingObject(with: written.objectID) as? Member)
            switch reason {
            case "shorter here": member.duties.remove(at: 0)
            case "shorter after a merge":
                #expect(member.duties[2].number == 2)
                written.duties.remove(at: 0)
                try writer.save()
                context.mergeChanges(from: SavedChanges(updated: [written.objectID]))
            case "reset": context.reset()
            default: for store in stack.coordinator.persistentStores { try store.close() }
            }
        }
    }

    @Test(arguments: reasons)
    func `an index that the list has no more gives nil, whatever the reason`(_ reason: String) throws {
        let scene = try Scene(reason)
        let isShorter = reason.hasPrefix("shorter")

        #expect(scene.member.duties.object(at: 2) == nil)
        #expect(scene.member.duties.object(at: -1) == nil)
        #expect(scene.member.duties.object(at: 1)?.number == (isShorter ? 2 : nil))
        #expect(scene.member.duties.last?.number == (isShorter ? 2 : nil))
        #expect(OrderedToMany<Duty>([]).object(at: 0) == nil)
        // A list that cannot be read is reported: the application must not take it for an empty one.
        if isShorter { #expect(scene.context.recordedViolations.isEmpty) }
        if reason == "closed" { #expect(scene.context.recordedViolations.count == 1) }
    }

    @Test(arguments: reasons)
    func `the subscript stops the program with the reason`(_ reason: String) async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            [reason = reason as String] in
            let scene = try Scene(reason)
            print(scene.member.duties[2].number)
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        let expected =
            switch reason {
            case "reset": "its context was reset"
            case "closed": "could not be read and appeared empty"
            default: "index 2 is out of range for the 2 destinations of duties"
            }
        #expect(message.contains("Fatal error") && message.contains(expected), "\(message)")
    }
}
