// The operations of `bench --growth` that are methods of to-many relationships.

import BenchKit
import Espalier

extension GrowthCases {
    /// An operation on one side of a many-to-many relationship, whose destinations are all papers.
    private static func hub(
        _ name: String, _ power: Double, reason: String = "", work: GrowthCase.Work? = nil,
        _ body: @escaping @Sendable (Topic, [Paper]) throws -> Void
    ) -> GrowthCase {
        GrowthCase(name, power, reason: reason, work: work) { store in
            let context = store.context()
            let (papers, topic) = (try all(context), try topic(context))
            blackHole(topic.papers.count)
            return { try body(topic, papers) }
        }
    }

    /// An operation on the ordered list of all papers.
    private static func list(
        _ name: String, _ power: Double, reason: String = "", work: GrowthCase.Work? = nil,
        _ body: @escaping @Sendable (Shelf, [Paper]) throws -> Void
    ) -> GrowthCase {
        GrowthCase(name, power, reason: reason, work: work) { store in
            let context = store.context()
            let papers = try all(context)
            let shelf = try shelf(context)
            blackHole(shelf.listed.count)
            return { try body(shelf, papers) }
        }
    }

    static let members: [GrowthCase] = [
        hub("ToMany: count and isEmpty of one, often", 1) { topic, papers in
            for _ in papers { blackHole(topic.papers.isEmpty || topic.papers.count < 0) }
        },
        hub("ToMany: contains, each", 1) { topic, papers in
            for paper in papers { blackHole(topic.papers.contains(paper)) }
        },
        hub("ToMany: objectIDs", 1) { topic, _ in blackHole(topic.papers.objectIDs.count) },
        hub("ToMany: iterate", 1) { topic, _ in for paper in topic.papers { blackHole(paper.isFault) } },
        hub("ToMany: remove and insert of one", 0) { topic, papers in
            topic.papers.remove(papers[0])
            topic.papers.insert(papers[0])
        },
        hub("ToMany: subtract all, formUnion of all", 1) { topic, papers in
            topic.papers.subtract(papers)
            topic.papers.formUnion(papers)
        },
        hub("ToMany: removeAll", 1) { topic, _ in topic.papers.removeAll() },
        hub(
            "ToMany: set to all of them", 1, reason: "the former and the new members are compared as sets",
            work: .tables
        ) {
            topic, papers in
            topic.papers = ToMany(papers)
        },
        hub("ToMany: ==", 1, reason: "both sides become sets", work: .tables) { topic, _ in
            blackHole(topic.papers == topic.papers)
        },
        hub("ToMany: without an owner, insert and remove, each, formUnion and subtract of all", 1, work: .tables) {
            _, papers in
            let loose: ToMany<Paper> = []
            for paper in papers { loose.insert(paper) }
            loose.formUnion(papers)
            for paper in papers.dropLast() { loose.remove(paper) }
            loose.subtract(papers)
            blackHole(loose.isEmpty)
        },
        GrowthCase("save of one link among all of a hub", 0, work: .file) { store in
            let context = store.context()
            let (papers, topic) = (try all(context), try topic(context))
            return {
                topic.papers.remove(papers[0])
                try context.save()
                topic.papers.insert(papers[0])
                try context.save()
            }
        },
        list("OrderedToMany: subscript, each", 1) { shelf, papers in
            for index in papers.indices { blackHole(shelf.listed[index].isFault) }
        },
        list("OrderedToMany: object(at:), each", 1) { shelf, papers in
            for index in papers.indices { blackHole(shelf.listed.object(at: index)?.isFault == true) }
        },
        list("OrderedToMany: first, last, count, indices, often", 1) { shelf, papers in
            for _ in papers {
                blackHole(shelf.listed.first === shelf.listed.last || shelf.listed.indices.isEmpty)
                blackHole(shelf.listed.isEmpty || shelf.listed.count < 0)
            }
        },
        list("OrderedToMany: contains and firstIndex, each", 1) { shelf, papers in
            for paper in papers { blackHole(shelf.listed.contains(paper) && shelf.listed.firstIndex(of: paper) == 0) }
        },
        list("OrderedToMany: objectIDs", 1) { shelf, _ in blackHole(shelf.listed.objectIDs.count) },
        list("OrderedToMany: iterate", 1) { shelf, _ in for paper in shelf.listed { blackHole(paper.isFault) } },
        list("OrderedToMany: removeAll, append(contentsOf:)", 1) { shelf, papers in
            shelf.listed.removeAll()
            shelf.listed.append(contentsOf: papers)
        },
        list("OrderedToMany: subtract all, insert(contentsOf:at:)", 1) { shelf, papers in
            shelf.listed.subtract(papers)
            shelf.listed.insert(contentsOf: papers, at: 0)
        },
        list("OrderedToMany: remove(_:), each", 1) { shelf, papers in
            for paper in papers { shelf.listed.remove(paper) }
        },
        list("OrderedToMany: replaceObject, each", 1) { shelf, papers in
            var spare = shelf.listed.remove(at: 0)
            for index in papers.indices.dropLast() {
                guard let paper = spare else { return }
                spare = shelf.listed[index]
                shelf.listed.replaceObject(at: index, with: paper)
            }
        },
        list("OrderedToMany: removeAll(where:), every second one", 1) { shelf, _ in
            var isSecond = false
            shelf.listed.removeAll { _ in
                isSecond.toggle()
                return isSecond
            }
        },
        list("OrderedToMany: move and insert of one", 1, reason: "the first change of an order reads the list") {
            shelf, papers in
            shelf.listed.move(from: 1, to: papers.count / 2)
            shelf.listed.remove(at: 3)
            shelf.listed.insert(papers[3], at: papers.count / 3)
        },
        list(
            "OrderedToMany: set to all, reversed", 1, reason: "the former and the new members are compared as sets",
            work: .tables
        ) { shelf, papers in
            shelf.listed = OrderedToMany(papers.reversed())
        },
        list("OrderedToMany: ==", 1) { shelf, _ in blackHole(shelf.listed == shelf.listed) },
    ]
}
