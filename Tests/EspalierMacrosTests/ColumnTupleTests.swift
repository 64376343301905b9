// Values with types that the compiler knows: key paths, expressions, aggregates, groups.

import Espalier
import EspalierModel
import Foundation
import Testing

@Suite struct ColumnTupleTests {
    private func makeShop() throws -> (ManagedObjectContext, PersistentContainer) {
        let container = try PersistentContainer(inMemoryFor: RecordShop.classes)
        let context = ManagedObjectContext(container.persistentStoreCoordinator)
        let nina = Singer(context: context)
        nina.name = "Nina"
        for (number, title) in ["Pastel Blues", "Wild Is the Wind", "Ñandú"].enumerated() {
            let record = Record(context: context)
            (record.title, record.year, record.weight) = (title, 1965 + number, 0.5)
            (record.stars, record.singer) = (number == 1 ? nil : number + 3, number < 2 ? nina : nil)
            record.format = number == 2 ? .tape : .vinyl
        }
        return (context, container)
    }

    @Test func `columns are key paths and expressions, and rows are tuples (SD-22, SD-25)`() throws {
        let (context, container) = try makeShop()
        defer { withExtendedLifetime(container) {} }
        let request = try FetchRequest<Record>(sortBy: [TypedSortKey(\.year)])
        let (title, singer, format) = (
            TypedColumn(\Record.title), TypedColumn(\Record.singer?.name), TypedColumn(\Record.format)
        )
        let stars = TypedColumn(\Record.stars)
        let double = TypedColumn(#Expression<Record, Int> { $0.year * 2 })
        let (ref, object) = (TypedColumn(\Record.singer), TypedColumn.object(of: Record.self))
        for _ in 0..<2 {
            let rows = try context.fetch(request, title, singer, format, stars, double, ref, object)

            #expect(rows.map { $0.0 } == ["Pastel Blues", "Wild Is the Wind", "Ñandú"])
            let (singers, starred): ([String?], [Int?]) = (rows.map { $0.1 }, rows.map { $0.3 })
            let (formats, doubles): ([Format], [Int]) = (rows.map { $0.2 }, rows.map { $0.4 })
            #expect(singers == ["Nina", "Nina", nil])
            #expect(formats == [.vinyl, .vinyl, .tape])
            #expect(starred == [3, nil, 5])
            #expect(doubles == [3930, 3932, 3934])
            let nina = try #require(rows[0].5)
            #expect(try context[nina].name == "Nina")
            #expect(rows[2].5 == nil)
            #expect(try context[rows[2].6].title == "Ñandú")
            try context.save()
        }
    }

    @Test func `expressions of each kind are columns with the values that evaluate gives (SD-22)`() throws {
        let (context, container) = try makeShop()
        defer { withExtendedLifetime(container) {} }
        let request = try FetchRequest<Record>(sortBy: [TypedSortKey(\.year)])
        let numbers: [Expression<Record, Int>] = [
            #Expression { $0.year % 10 }, #Expression { -$0.year / 2 }, #Expression { ($0.stars ?? 1) * 2 },
            #Expression { $0.isLive ? 1 : $0.year }, #Expression { $0.title.count },
            #Expression { $0.songs.count + 1 }, #Expression { $0.singer?.name.count ?? 0 },
        ]
        let texts: [Expression<Record, String>] = [
            #Expression { $0.singer?.name ?? $0.title }, #Expression { $0.title },
        ]
        let truths: [Expression<Record, Bool>] = [
            #Expression { $0.year > 1965 && $0.title.contains("i") }, #Expression { $0.stars == nil },
            #Expression { !$0.isLive },
        ]
        let optionals: [Expression<Record, Int?>] = [
            #Expression { $0.stars }, #Expression { $0.stars.flatMap { $0 + 1 } },
        ]
        let weight = #Expression<Record, Double> { $0.weight * 3 }
        for isSaved in [false, true] {
            if isSaved { try context.save() }
            let records = try context.fetch(request)
            for (position, column) in numbers.enumerated() {
                let found: [Int] = try context.fetch(request, TypedColumn(column))
                #expect(try found == records.map { try column.evaluate($0) }, "number \(position)")
            }
            for (position, column) in texts.enumerated() {
                let found: [String] = try context.fetch(request, TypedColumn(column))
                #expect(try found == records.map { try column.evaluate($0) }, "text \(position)")
            }
            for (position, column) in truths.enumerated() {
                let found: [Bool] = try context.fetch(request, TypedColumn(column))
                #expect(try found == records.map { try column.evaluate($0) }, "truth \(position)")
            }
            for (position, column) in optionals.enumerated() {
                let found: [Int?] = try context.fetch(request, TypedColumn(column))
                #expect(try found == records.map { try column.evaluate($0) }, "optional \(position)")
            }
            #expect(try context.fetch(request, TypedColumn(weight)) == [1.5, 1.5, 1.5])
        }
    }

    @Test func `aggregates and groups have the types of their properties (SD-22)`() throws {
        let (context, container) = try makeShop()
        defer { withExtendedLifetime(container) {} }
        let (name, count) = (TypedColumn(\Record.singer?.name), TypedColumn.count(of: Record.self))
        let (years, average) = (TypedColumn.sum(\Record.year), TypedColumn.average(\Record.stars))
        let (last, least) = (TypedColumn.max(\Record.title), TypedColumn.min(\Record.stars))
        let (starred, weight) = (TypedColumn.count(\Record.stars), TypedColumn.sum(\Record.weight))
        let next = TypedColumn.sum(#Expression<Record, Int> { $0.year + 1 })
        let groups: [PartialKeyPath<Record>] = [\.singer?.name]
        for _ in 0..<2 {
            let rows = try context.fetch(
                FetchRequest<Record>(sortedBy: [SortKey("2", ascending: false)]), name, count, years, average, last,
                least, starred, weight, groupedBy: groups)

            let (names, counts): ([String?], [Int]) = (rows.map { $0.0 }, rows.map { $0.1 })
            let (sums, averages): ([Int], [Double?]) = (rows.map { $0.2 }, rows.map { $0.3 })
            let (greatest, smallest): ([String?], [Int?]) = (rows.map { $0.4 }, rows.map { $0.5 })
            let (numbers, weights): ([Int], [Double]) = (rows.map { $0.6 }, rows.map { $0.7 })
            #expect(names == ["Nina", nil])
            #expect(counts == [2, 1])
            #expect(sums == [3931, 1967])
            #expect(averages == [3, 5])
            #expect(greatest == ["Wild Is the Wind", "Ñandú"])
            #expect(smallest == [3, 5])
            #expect(numbers == [1, 1])
            #expect(weights == [1, 0.5])
            let many = try context.fetch(
                FetchRequest<Record>(), TypedColumn(\Record.format), groupedBy: [\.format],
                having: FetchPredicate(format: "count:(SELF) > 1"))
            #expect(many == [Format.vinyl])
            #expect(try context.fetch(FetchRequest<Record>(), next) == [5901])
            let formats = try context.fetch(FetchRequest<Record>(), TypedColumn(\Record.format), distinct: true)
            #expect(formats.count == 2)
            try context.save()
        }
    }

    @Test func `columns and key paths order rows and filter groups as names do (SD-22)`() throws {
        let (context, container) = try makeShop()
        defer { withExtendedLifetime(container) {} }
        let (format, count) = (TypedColumn(\Record.format), TypedColumn.count(of: Record.self))
        let (years, least) = (TypedColumn.sum(\Record.year), TypedColumn.min(\Record.stars))
        let titles = try context.fetch(
            Record.fetchRequest(), TypedColumn(\Record.title),
            sortBy: [TypedColumnOrder(\.format, order: .reverse), TypedColumnOrder(\.year)])
        let named = try context.fetch(
            Record.fetchRequest(nil, sortedBy: [SortKey("format", ascending: false), SortKey("year")]),
            TypedColumn(\Record.title))
        #expect(titles == named && titles.count == 3)

        func formats(_ condition: TypedGroupCondition<Record>, _ order: SortOrder = .forward) throws -> [Format] {
            let rows = try context.fetch(
                Record.fetchRequest(), format, years, groupedBy: [\.format], having: condition,
                sortBy: [TypedColumnOrder(TypedColumn.sum(\Record.year), order: order)])
            return rows.map { $0.0 }
        }
        #expect(try formats(years > 0) == [.tape, .vinyl] && formats(years > 0, .reverse) == [.vinyl, .tape])
        #expect(try formats(count > 1) == [.vinyl] && formats(!(count > 1)) == [.tape])
        #expect(try formats(years >= 3931) == [.vinyl] && formats(years <= 1967) == [.tape])
        #expect(try formats(least < 5) == [.vinyl] && formats(least == 5 || count == 2) == [.tape, .vinyl])
        #expect(try formats(count != 2 && least == 3) == [])

        let error = #expect(throws: ContextError.self) { try formats(TypedColumn(\Record.shortTitle) == "x") }
        #expect("\(String(describing: error))".contains("condition on groups"))
    }

    @Test func `what has no counterpart, and a sum that its type cannot have, are errors with the column`() throws {
        let (context, container) = try makeShop()
        defer { withExtendedLifetime(container) {} }
        func problem(_ body: () throws -> Void) -> String {
            do { try body() } catch ContextError.invalidPredicate(let error) {
                return "\(error.subject) \(error.reason) \(error.place == nil ? "nowhere" : "somewhere")"
            } catch { return "\(error)" }
            return "no error"
        }
        for record in try context.fetch(FetchRequest<Record>()) { record.year = .max }

        let (count, years) = (TypedColumn.count(of: Record.self), TypedColumn.sum(\Record.year))
        let computed = problem { _ = try context.fetch(FetchRequest<Record>(), TypedColumn(\Record.shortTitle)) }
        let sum = problem { _ = try context.fetch(FetchRequest<Record>(), count, years) }
        let notGrouped = problem {
            _ = try context.fetch(FetchRequest<Record>(), TypedColumn(\Record.title), count, groupedBy: [\.year])
        }

        #expect(computed.hasPrefix("column '1'") && computed.hasSuffix("somewhere"), "\(computed)")
        #expect(sum.hasPrefix("column '2' found the number") && sum.contains("Int"), "\(sum)")
        #expect(notGrouped.hasPrefix("column '1' 'title' is neither"), "\(notGrouped)")
    }
}
