// A relationship with many members costs the same as one with few: an insertion, a look-up, a count, a save.
//
// `ESPALIER_MEMBERS=100000` runs with 1,000 members, then with ten times as many each time up to that number, and
// prints the times. It also requires each step to take less than 0.1 s in a debug build, and a count, for which the
// store visits leaves, less than 1 s.

import Espalier
import EspalierModel
import Foundation
import TestSupport
import Testing

@Suite struct LiveGrowthTests {
    @Test func `one member more in a relationship of many loads none of the others`() throws {
        let most = campaignCount("ESPALIER_MEMBERS", default: 3000)
        var count = min(1000, most)
        while count <= most {
            let times = try Self.times(count)
            if most > 3000 {
                let text = times.map { "\($0.name) \(Int($0.microseconds))" }.joined(separator: ", ")
                print("\(count) members, microseconds: \(text)")
                for time in times {
                    let most = time.name.hasPrefix("count") ? 1_000_000.0 : 100_000
                    #expect(time.microseconds < most, "\(count) members, \(time.name)")
                }
            }
            count *= count < most && count * 10 > most ? most / count : 10
        }
    }

    /// The time of each step in a file whose one boss has `count` reports, marks and skills.
    private static func times(_ count: Int) throws -> [(name: String, microseconds: Double)] {
        let stack = try Stack(.btree, classes: teamClasses)
        let boss = try makeBoss(stack, count)
        let context = stack.context
        let owner = try #require(try context.existingObject(with: boss) as? Member)
        let (last, skill) = try (
            #require(try context.fetch(request(Member.self, count)).first),
            #require(try context.fetch(request(Skill.self, count)).first)
        )
        #expect(last.boss === owner)
        let rowsFetched = context.rowsFetched
        var times: [(name: String, microseconds: Double)] = []
        func time(_ name: String, _ body: () throws -> Void) rethrows {
            let clock = ContinuousClock()
            times.append((name, try clock.measure(body) / .microseconds(1)))
        }

        time("count") { #expect(owner.reports.count == count) }
        time("count of many to many") { #expect(owner.skills.count == count) }
        time("contains") { #expect(owner.reports.contains(last) && owner.skills.contains(skill)) }
        time("insert") {
            owner.reports.insert(Member(context: context))
            owner.skills.insert(Skill(context: context))
            owner.marks.insert(Skill(context: context))
        }
        time("count after it") { #expect(owner.reports.count == count + 1 && owner.skills.count == count + 1) }
        time("remove") {
            #expect(owner.skills.remove(skill) === skill && owner.marks.remove(skill) === skill)
            #expect(owner.reports.remove(last) === last)
        }
        try time("save") { try context.save() }
        time("count of none") { #expect(!owner.marks.isEmpty && owner.queue.isEmpty) }
        time("count again") { #expect(owner.reports.count == count && owner.skills.count == count) }

        #expect(context.rowsFetched == rowsFetched, "a row of another member was read")
        for name in ["reports", "skills", "marks"] { #expect(owner.hasFault(forRelationshipNamed: name), "\(name)") }
        #expect(owner.marks.count == count)
        return times
    }

    private static func request<Object: ManagedObject>(_ type: Object.Type, _ number: Int) throws -> FetchRequest<
        Object
    > {
        FetchRequest<Object>(try FetchPredicate(format: "number == %@", number))
    }

    private static func makeBoss(_ stack: Stack, _ count: Int) throws -> ObjectID {
        let context = stack.newContext()
        let boss = Member(context: context)
        for number in 1...count {
            let (member, skill) = (Member(context: context), Skill(context: context))
            (member.number, member.boss, skill.number) = (number, boss, number)
            boss.skills.insert(skill)
            boss.marks.insert(skill)
        }
        try context.save()
        return boss.objectID
    }
}
