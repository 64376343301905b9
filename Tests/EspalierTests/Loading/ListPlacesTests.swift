// The places of destinations in an ordered relationship: those that a cache of rows keeps are those of the list,
// whoever changes it.

import EspalierModel
import EspalierStore
import Foundation
import Testing

@testable import Espalier

@Suite struct ListPlacesTests {
    private static func makeMember(_ stack: Stack, _ count: Int) throws -> ObjectID {
        let member = Member(context: stack.context)
        member.duties.append(
            contentsOf: (0..<count).map { number in
                let duty = Duty(context: stack.context)
                duty.number = number
                return duty
            })
        try stack.context.save()
        return member.objectID
    }

    /// Searches each destination three times: by two linear searches, and in the table that follows.
    private func expectPlaces(_ member: Member, _ numbers: [Int], _ comment: Comment) {
        #expect(member.duties.map(\.number) == numbers, comment)
        for _ in 0..<3 {
            for (place, duty) in member.duties.enumerated() {
                #expect(member.duties.firstIndex(of: duty) == place && member.duties.contains(duty), comment)
            }
        }
    }

    @Test(arguments: [StoreKind.inMemory, .btree], [31, 32, 33, 200])
    func `places are those of the list after saves, merges, refreshes, rollbacks and resets`(
        kind: StoreKind, count: Int
    ) throws {
        let stack = try Stack(kind, classes: teamClasses)
        let id = try Self.makeMember(stack, count)
        let (reader, writer) = (stack.newContext(), stack.newContext())
        let member = try #require(try reader.existingObject(with: id) as? Member)
        let other = try #require(try writer.existingObject(with: id) as? Member)
        var numbers = Array(0..<count)
        expectPlaces(member, numbers, "as stored")

        let removed = try #require(other.duties.remove(at: 7))
        other.duties.move(from: count - 2, to: 0)
        try writer.save()
        numbers.insert(numbers.remove(at: count - 1), at: 0)
        numbers.removeAll { $0 == 7 }
        let gone = try #require(try reader.existingObject(with: removed.objectID) as? Duty)
        reader.mergeChanges(from: SavedChanges(isEverything: true))
        expectPlaces(member, numbers, "after a merge")
        #expect(member.duties.firstIndex(of: gone) == nil && !member.duties.contains(gone))

        member.duties.append(gone)
        member.duties.move(from: 3, to: 5)
        numbers.append(7)
        numbers.insert(numbers.remove(at: 3), at: 5)
        expectPlaces(member, numbers, "with unsaved changes")
        try reader.save()
        expectPlaces(member, numbers, "after a save")
        member.duties.removeAll()
        #expect(member.duties.firstIndex(of: gone) == nil)
        reader.rollback()
        expectPlaces(member, numbers, "after a rollback")
        reader.refresh(member, mergesChanges: false)
        expectPlaces(member, numbers, "after a refresh")
        reader.reset()
        expectPlaces(try #require(try reader.existingObject(with: id) as? Member), numbers, "after a reset")
    }

    @Test func `searching each destination of an order takes steps in proportion to their number`() throws {
        var counts: [Int] = []
        for count in [400, 4000] {
            let stack = try Stack(.inMemory, classes: teamClasses)
            let id = try Self.makeMember(stack, count)
            let context = stack.newContext()
            let member = try #require(try context.existingObject(with: id) as? Member)
            let duties = Array(member.duties)
            let (steps, _) = StepCount.count {
                for (place, duty) in duties.enumerated() {
                    #expect(member.duties.contains(duty) && member.duties.firstIndex(of: duty) == place)
                }
            }
            counts.append(steps)
        }
        #expect(counts[0] > 0 && counts[1] < 12 * counts[0], "\(counts) steps for 400 and 4000 destinations")
    }
}
