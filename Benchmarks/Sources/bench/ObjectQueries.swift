// The queries of the object lines: the same conditions in Espalier's format and in SQL.

import BenchKit
import Espalier

/// A query of people.
struct PeopleQuery {
    let name: String
    let note: String
    /// The condition in Espalier's format.
    let format: String
    /// The attribute that orders the people, if any.
    var order: String?
    var offset = 0
    var limit = 0
    /// Whether only the number of people is asked for.
    var isCount = false
    /// The same in SQL, after `FROM person`.
    let sql: String

    /// The queries, for a store of `count` people.
    static func all(_ count: Int) -> [PeopleQuery] {
        let some = (0..<30).map { "'\(People.email(17 * $0 % count))'" }.joined(separator: ", ")
        return [
            PeopleQuery(
                name: "filter ==", note: "no index, one in 1000 passes", format: "score == 124.875",
                sql: "WHERE score = 124.875"),
            PeopleQuery(
                name: "filter <", note: "no index, one in 125 passes", format: "score < 1", sql: "WHERE score < 1"),
            PeopleQuery(
                name: "filter BEGINSWITH", note: "no index", format: "name BEGINSWITH 'Person number 77'",
                sql: "WHERE name GLOB 'Person number 77*'"),
            PeopleQuery(
                name: "filter LIKE", note: "no index", format: "name LIKE '*77 of*'",
                sql: "WHERE name GLOB '*77 of*'"),
            PeopleQuery(
                name: "filter CONTAINS", note: "no index", format: "name CONTAINS '77 of'",
                sql: "WHERE instr(name, '77 of') > 0"),
            PeopleQuery(
                name: "filter CONTAINS[c]", note: "no index; LIKE there", format: "name CONTAINS[c] '77 OF'",
                sql: "WHERE name LIKE '%77 OF%'"),
            PeopleQuery(
                name: "filter, sort, limit 100", note: "no index", format: "score > 60 AND age < 60", order: "name",
                limit: 100, sql: "WHERE score > 60 AND age < 60 ORDER BY name, pk LIMIT 100"),
            PeopleQuery(
                name: "IN of 30", note: "by an index", format: "email IN {\(some)}", sql: "WHERE email IN (\(some))"),
            PeopleQuery(
                name: "page in the middle", note: "by an index, 50 from the middle on", format: "TRUEPREDICATE",
                order: "email", offset: count / 2, limit: 50,
                sql: "ORDER BY email, pk LIMIT 50 OFFSET \(count / 2)"),
            PeopleQuery(
                name: "limit over an index", note: "the first 10 of a tenth by the index",
                format: "email BEGINSWITH 'person1'", order: "email", limit: 10,
                sql: "WHERE email GLOB 'person1*' ORDER BY email, pk LIMIT 10"),
            PeopleQuery(
                name: "range, sort, limit 20", note: "by an index",
                format: "email > 'person2' AND email < 'person7'", order: "email", limit: 20,
                sql: "WHERE email > 'person2' AND email < 'person7' ORDER BY email, pk LIMIT 20"),
            PeopleQuery(
                name: "prefix", note: "by an index", format: "email BEGINSWITH 'person77'",
                sql: "WHERE email GLOB 'person77*'"),
            PeopleQuery(
                name: "join to-one", note: "by the index of the relationship, the teams without one",
                format: "team.name == 'Team 7'",
                sql: "WHERE team IN (SELECT pk FROM team WHERE name = 'Team 7')"),
            PeopleQuery(
                name: "count ==", note: "no index, one in 1000 passes", format: "score == 124.875", isCount: true,
                sql: "WHERE score = 124.875"),
            PeopleQuery(
                name: "count by an index", note: "a range of a half", format: "email BETWEEN {'person2', 'person7'}",
                isCount: true, sql: "WHERE email BETWEEN 'person2' AND 'person7'"),
        ]
    }
}

/// A contender that answers queries of people.
protocol QueryContender: ObjectContender {
    /// The sum of the ages of the people that a query finds, or their number, over `times` repetitions of it.
    func ages(_ query: PeopleQuery, times: Int) throws -> Int
}

extension EspalierObjects: QueryContender {
    func ages(_ query: PeopleQuery, times: Int) throws -> Int {
        var sum = 0
        for _ in 0..<times {
            var request = FetchRequest<Person>(
                try FetchPredicate(format: query.format), sortedBy: query.order.map { [SortKey($0)] } ?? [])
            (request.fetchOffset, request.fetchLimit) = (query.offset, query.limit)
            if query.isCount {
                sum &+= try newContext().count(for: request)
            } else {
                for person in try newContext().fetch(request) { sum &+= person.age }
            }
        }
        return sum
    }
}

extension SQLiteObjects: QueryContender {
    func ages(_ query: PeopleQuery, times: Int) throws -> Int {
        var sum = 0
        for _ in 0..<times {
            if query.isCount {
                sum &+= try count("SELECT count(*) FROM person " + query.sql)
            } else {
                sum &+= try sumOfAges("SELECT pk, version, name, age, score, email, team FROM person " + query.sql)
            }
        }
        return sum
    }
}
