// The whole demo: a real library imported through the public object API, queried, checked and used again.

import Espalier
import EspalierEngine
import EspalierModel
import Foundation
import TestSupport
import Testing

@testable import dbtool

@Suite struct DemoTests {
    /// The expected answers, which another program computed from the publisher's file.
    private static func goldenAnswers() throws -> String {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Golden/answers.txt")
        return try String(contentsOf: file, encoding: .utf8)
    }

    /// The part of the demo's output that is the same in each run: the answers, without their costs.
    private static func answers(in output: String) throws -> String {
        let start = try #require(output.firstRange(of: "Tracks of AC/DC")).lowerBound
        let end = try #require(output.firstRange(of: "\n\nNext, try")).lowerBound
        let lines = output[start..<end].split(separator: "\n", omittingEmptySubsequences: false)
        let kept = lines.filter { !$0.hasSuffix(" faults") && !$0.hasSuffix(" fault") }
        return kept.joined(separator: "\n").replacing("\n\n\n", with: "\n\n")
    }

    @Test func `the library goes in through objects and comes out as its publisher made it`() throws {
        try withTemporaryFolder { folder in
            let path = folder.appending(path: "library.espalier").path

            let first = ToolRun("demo", path)
            let second = ToolRun("demo", path)
            let check = ToolRun("check", path)
            let counts = ToolRun("schema", path, "--json")

            #expect(first.code == 0, "\(first.errors)")
            #expect(first.output.hasPrefix("\(path) does not exist: importing the library into it.\n"))
            #expect(try Self.answers(in: first.output) == Self.goldenAnswers())
            #expect(second.code == 0, "\(second.errors)")
            #expect(second.output.hasPrefix("\(path) exists and is a demo store with 15,607 rows: using it as it is"))
            #expect(try Self.answers(in: second.output) == Self.goldenAnswers())
            #expect(check.code == 0, "\(check.output)")
            #expect(check.output.hasSuffix("6,892 rows and 8,715 links from many to many: 15,607 together\n"))
            #expect(counts.output.contains(#""name":"Track","superentity":null,"abstract":false,"rows":3503"#))
            try Self.expectDamageIsFound(in: path)
        }
    }

    /// Expects `check` to name the page and the tree after a flipped bit in a leaf of the tracks.
    private static func expectDamageIsFound(in path: String) throws {
        let names = TreeNames.read(path)
        let image = try StoreImage(path: path)
        let page = try #require(
            try (0..<image.pageCount).last { number in
                let page = try image.page(number)
                return page.type == .leafInteger && names[page.treeID]?.contains("Track") == true
            })
        var bytes = try Data(contentsOf: URL(filePath: path))
        bytes[Int(page) * image.pageSize + 777] ^= 16
        try bytes.write(to: URL(filePath: path))

        let check = ToolRun("check", path)

        #expect(check.code == 1)
        #expect(check.output.contains("Page \(page) "), "\(check.output)")
        #expect(check.output.contains("rows:Track"), "\(check.output)")
    }

    @Test func `both ends of every relationship agree, and missing values stay missing`() throws {
        try withTemporaryFolder { folder in
            let path = folder.appending(path: "library.espalier").path
            #expect(ToolRun("demo", path, "--commit-every", "1000", "--json").code == 0)
            let store = try DemoStore.open(path)
            let context = store.makeContext()

            for employee in try context.fetch(FetchRequest<Employee>()) {
                #expect(employee.manager?.reports.contains(employee) ?? (employee.employeeID == 1))
                for customer in employee.customers { #expect(customer.supportRep === employee) }
            }
            let canadians = FetchRequest<Person>(try FetchPredicate(format: "country == %@", "Canada"))
            #expect(try context.fetch(canadians).count == 8 + 8)
            #expect(try context.fetch(FetchRequest<Customer>(try FetchPredicate(format: "company == nil"))).count == 49)
            try store.close()
        }
    }

    @Test func `a file that is no demo store is left as it is, with code 2`() throws {
        try withTemporaryFolder { folder in
            let notes = folder.appending(path: "notes.txt")
            try Data("my notes".utf8).write(to: notes)
            let other = folder.appending(path: "other.espalier")
            try AlbumStore.make(at: other.path)
            let plain = folder.appending(path: "plain.espalier")
            try Database.open(plain.path).close()

            for file in [notes, other, plain] {
                let before = try Data(contentsOf: file)
                let run = ToolRun("demo", file.path, "--replace")

                #expect(run.code == 2, "\(run.errors)")
                #expect(run.errors.contains("is not a demo store"), "\(run.errors)")
                #expect(run.errors.contains("name another file"), "\(run.errors)")
                #expect(try Data(contentsOf: file) == before)
            }
        }
    }

    @Test func `a demo store that another process has open is locked, with code 4 and the holder's number`() throws {
        try withTemporaryFolder { folder in
            let path = folder.appending(path: "library.espalier").path
            let store = try DemoStore.open(path)
            defer { try? store.close() }

            let run = try ToolRun(executable: ["demo", path])

            #expect(run.code == 4, "\(run.output)\(run.errors)")
            #expect(run.errors.contains("\(ProcessInfo.processInfo.processIdentifier)"), "\(run.errors)")
            #expect(FileManager.default.fileExists(atPath: path))
        }
    }

    @Test func `a disk that takes no more ends the import with code 3 and a store that can be read`() throws {
        try withTemporaryFolder { folder in
            // A limit of the process simulates a full disk: 5,000 blocks of 1,024 bytes in any one file.
            // The log's first segment fits and its second does not, so the import ends in the middle.
            let command = "trap '' XFSZ; ulimit -f 5000; exec \"$0\" demo library.espalier --commit-every 20"
            let run = try Command("bash", ["-c", command, ToolRun.executable.path], in: folder)

            #expect(run.code == 3, "\(run.output)\(run.errors)")
            #expect(run.errors.hasPrefix("dbtool: library.espalier: "), "\(run.errors)")
            let check = try ToolRun(executable: ["check", folder.appendingPathComponent("library.espalier").path])
            #expect(check.code == 0, "\(check.output)\(check.errors)")
            #expect(check.output.contains("rows"), "\(check.output)")
        }
    }
}
