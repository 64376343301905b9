// `schema`, `dump`, `fetch` and `check` on a small store of objects, made through the store contract.

import EspalierEngine
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@testable import dbtool

@Suite struct StoreVerbTests {
    private func withStore(_ body: (String) throws -> Void) throws {
        try withTemporaryFolder { folder in
            let path = folder.appendingPathComponent("albums.espalier").path
            try AlbumStore.make(at: path)
            try body(path)
        }
    }

    @Test func `a store of objects in which nothing was stored yet is in order`() throws {
        try withTemporaryFolder { folder in
            let path = folder.appendingPathComponent("new.espalier").path
            var options = DatabaseOptions()
            options.applicationID = BTreeStore.applicationID
            try Database.open(path, options: options).close()

            let run = ToolRun("check", path)

            #expect(run.code == 0, "\(run.errors)")
            #expect(run.output.contains("ok"))
        }
    }

    @Test func `schema shows an entity with its rules`() throws {
        try withStore { path in
            let run = ToolRun("schema", path, "Artist")

            #expect(run.code == 0, "\(run.errors)")
            #expect(
                run.output == """
                    Artist (2 rows)
                      name    string      unique, indexed
                      albums  many Album  inverse artist, on delete cascade


                    """)
        }
    }

    @Test func `dump shows rows as a table`() throws {
        try withStore { path in
            let run = ToolRun("dump", path, "Album")

            #expect(run.code == 0, "\(run.errors)")
            #expect(
                run.output == """
                    Album: 3 rows
                    row      title         year  price  released              artist
                    -------  ------------  ----  -----  --------------------  --------
                    Album/1  Pastel Blues  1965    9.9  1970-01-01T00:00:00Z  Artist/1
                    Album/2  Homogenic     1997                               Artist/2
                    Album/3  A\\nB


                    """)
        }
    }

    @Test func `dump gives every row as a line of JSON, each link once`() throws {
        try withStore { path in
            let lines = ToolRun("dump", path, "--json").output.split(separator: "\n")
            let rows = try lines.map { try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] }

            #expect(
                rows.compactMap { $0?["entity"] as? String } == [
                    "Artist", "Artist", "Album", "Album", "Album", "Label", "Label",
                ])
            #expect(
                lines[3] == """
                    {"entity":"Album","key":2,"version":1,"attributes":{"title":"Homogenic","year":1997,"price":null,\
                    "released":null},"relationships":{"artist":"Artist/2","labels":["Label/1","Label/2"]}}
                    """)
        }
    }

    @Test func `fetch finds, sorts, limits and counts`() throws {
        try withStore { path in
            let sorted = ToolRun("fetch", path, "Album", "year > 1900", "--sort", "artist.name desc, title")
            let limited = ToolRun("fetch", path, "Album", "--sort", "title", "--limit", "1", "--offset", "1", "--json")

            #expect(
                sorted.output == """
                    row      title         year  price  released              artist
                    -------  ------------  ----  -----  --------------------  --------
                    Album/1  Pastel Blues  1965    9.9  1970-01-01T00:00:00Z  Artist/1
                    Album/2  Homogenic     1997                               Artist/2

                    2 rows

                    """, "\(sorted.errors)")
            #expect(limited.output.contains("Homogenic"))
            #expect(limited.output.split(separator: "\n").count == 1)
            #expect(ToolRun("fetch", path, "Album", "ANY labels.name LIKE 'P*'", "--count").output == "1\n")
            #expect(ToolRun("fetch", path, "Artist", "--count", "--json").output == "{\"count\":2}\n")
            #expect(ToolRun("fetch", path, "Artist", "name == 'Björk'", "--explain").output.contains("Artist"))
            let analysis = ToolRun("fetch", path, "Artist", "name == 'Björk'", "--analyze")
            #expect(analysis.code == 0 && analysis.output.contains("found") && analysis.output.contains("└ "))
            let steps = ToolRun("fetch", path, "Artist", "name == 'Björk'", "--analyze", "--json").output
            #expect(steps.contains("\"found\":1,"), "\(steps)")
            let values = ToolRun("fetch", path, "Artist", "--columns", "name", "--analyze")
            #expect(values.code == 0 && values.output.contains("values of Artist"), "\(values.errors)")
            #expect(ToolRun("fetch", path, "Artist", "--explain", "--count").output == "count rows\n")
        }
    }

    @Test func `fetch prints columns, groups with conditions, and distinct lines`() throws {
        try withStore { path in
            let groups = ToolRun(
                "fetch", path, "Album", "--group-by", "artist.name", "--columns",
                "artist.name as artist, count:(SELF) as albums, max:(year) as last", "--sort", "last desc", "--having",
                "last > 1900")
            let json = ToolRun(
                "fetch", path, "Album", "year > 1970", "--columns", "title, year + 1 as next, 'a, b' as text", "--json")
            let distinct = ToolRun("fetch", path, "Album", "--columns", "labels.@count as n", "--distinct", "--count")

            #expect(
                groups.output == """
                    artist       albums  last
                    -----------  ------  ----
                    Björk             1  1997
                    Nina Simone       1  1965

                    2 rows

                    """, "\(groups.errors)")
            #expect(json.output == "{\"title\":\"Homogenic\",\"next\":1998,\"text\":\"a, b\"}\n", "\(json.errors)")
            #expect(Int(distinct.output.dropLast()).map { $0 > 0 && $0 < 4 } == true, "\(distinct.errors)")
            let all = "count:(SELF) as n, min:(year)"
            #expect(
                ToolRun("fetch", path, "Album", "--columns", all, "--json").output == "{\"n\":3,\"min:(year)\":1965}\n")
            let plan = ToolRun("fetch", path, "Album", "--columns", all, "--explain")
            #expect(plan.output.contains("read all rows of Album"), "\(plan.output)")
            let wrong = ToolRun("fetch", path, "Album", "--group-by", "year", "--columns", "title")
            #expect(wrong.code == 2 && wrong.errors.contains("column 'title'"), "\(wrong.errors)")
        }
    }

    @Test func `an unknown entity is named with the one that was meant, with code 2`() throws {
        try withStore { path in
            for run in [
                ToolRun("fetch", path, "Albun"), ToolRun("schema", path, "Albun"), ToolRun("dump", path, "Albun"),
            ] {
                #expect(run.code == 2)
                #expect(run.errors == "dbtool: there is no entity 'Albun': did you mean 'Album'?\n")
            }
        }
    }

    @Test func `a predicate or sort key with a mistake is shown with its column, with code 2`() throws {
        try withStore { path in
            let typo = ToolRun("fetch", path, "Album", "title === 'x'")
            let key = ToolRun("fetch", path, "Album", "titel == 'x'")
            let sort = ToolRun("fetch", path, "Album", "--sort", "jear")
            let type = ToolRun("fetch", path, "Album", "year == 'long ago'")

            for run in [typo, key, sort, type] {
                #expect(run.code == 2, "\(run.errors)")
                #expect(run.output.isEmpty)
            }
            #expect(typo.errors.contains("column 9"), "\(typo.errors)")
            #expect(typo.errors.contains("\n          ^"), "\(typo.errors)")
            #expect(key.errors.contains("did you mean 'title'?"), "\(key.errors)")
            #expect(sort.errors.contains("did you mean 'year'?"), "\(sort.errors)")
            #expect(type.errors.contains("column"), "\(type.errors)")
        }
    }

    @Test func `check counts rows and links`() throws {
        try withStore { path in
            let run = ToolRun("check", path)

            #expect(run.code == 0, "\(run.output)\(run.errors)")
            #expect(run.output.hasSuffix("7 rows and 2 links from many to many: 9 together\n"), "\(run.output)")
        }
    }
}
