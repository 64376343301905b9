// The operations of `bench --growth` that are kinds of conditions: each on all rows, without an index for it.

import Espalier

extension GrowthCases {
    /// One condition, as a query of all papers.
    private static func condition(_ format: String) -> GrowthCase { query("where " + format, 1, format) }

    /// One condition that holds for no paper, which is known without reading their rows.
    private static func search(_ format: String) -> GrowthCase { query("where " + format, 0, format, expecting: 0) }

    private static let formats: [String] = [
        "number != 3", "number <= 9", "number > 9", "number >= 9", "number BETWEEN {3, 9}", "number IN {3, 9, 11}",
        "NOT number IN {3, 9, 11}", "weight == 0.5", "weight < 2", "weight BETWEEN {1, 2}",
        "made == nil", "made != nil", "made < CAST(9, 'NSDate')", "isOpen == YES", "NOT isOpen == YES",
        "word == 'word number 7'", "word ==[c] 'WORD number 7'", "word ==[cd] 'WORD number 7'",
        "word != 'word number 7'", "word < 'word number 2'", "word >= 'word number 8'",
        "word IN {'word number 7', 'x'}", "word IN[c] {'WORD number 7', 'x'}", "word ENDSWITH '77'",
        "word ENDSWITH[c] 'R 77'", "word CONTAINS[d] 'r 77'", "word LIKE 'word*7?'", "word LIKE[c] '*R*77*'",
        "word LIKE[cd] '*R*77*'", "word MATCHES[c] 'WORD.*77'", "'77' IN word",
        "number == 3 AND weight == 0.375", "number == 3 OR weight == 0.5", "NOT (number > 3 AND number < 9)",
        "number == kind", "number + 1 == kind * 2", "word BEGINSWITH key", "modulus:by:(number, 7) == 3",
        "uppercase(word) == 'WORD NUMBER 7'", "TERNARY(isOpen == YES, number, kind) == 7",
        "shelf == nil", "shelf != nil", "shelf.code ENDSWITH '77'",
        "shelf.code CONTAINS[c] 'S0000007'", "ALL topics.name == 'all'",
        "NONE topics.name == 'all'", "ANY shelf.papers.number == 7", "topics.@count > 1",
        "shelf.papers.@max.number == 7", "shelf.papers.@sum.number == 7",
        "SUBQUERY(shelf.papers, $p, $p.number == 7).@count == 1", "TRUEPREDICATE AND number == 7",
        "ANY home.holdings.number == 7", "ALL home.holdings.number == 7", "home.holdings.@max.number == 7",
        "home.holdings.@sum.number == 7", "home.holdings.@count == 7",
        "SUBQUERY(home.holdings, $p, $p.number == 7).@count == 0",
    ]

    /// Conditions that hold for no paper.
    private static let searches: [String] = ["SELF == nil", "ANY topics.name BEGINSWITH 'b'"]

    private static let others: [GrowthCase] = [
        query("where list.code == 's00000000'", 1, "list.code == 's00000000'", reason: "it returns every paper"),
        query(
            "where SUBQUERY of all papers of the home that compares with the paper, for ten papers", 1.4,
            "number < 10 AND SUBQUERY(home.holdings, $p, $p.number == number).@count == 1", expecting: 10,
            reason: "all papers are tested for each of the ten; a thousand stay in memory, ten thousand are read anew"),
    ]

    static let predicates: [GrowthCase] = formats.map(condition) + searches.map(search) + others
}
