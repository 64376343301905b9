// The tool outside its build folder: alone, and with the folder that belongs to it.

import Foundation
import TestSupport
import Testing

@testable import dbtool

@Suite struct CopiedToolTests {
    @Test func `the rows of the demo are found beside the program, through a link to it, or where it was compiled`()
        throws
    {
        try withTemporaryFolder { folder in
            let program = folder.appending(path: "bin/dbtool")
            let rows = folder.appending(path: "bin/\(ChinookData.folderName)/ChinookData.json")
            let link = folder.appending(path: "link")
            try FileManager.default.createDirectory(
                at: rows.deletingLastPathComponent(), withIntermediateDirectories: true)
            for file in [program, rows] { try Data("[]".utf8).write(to: file) }
            try FileManager.default.createSymbolicLink(at: link, withDestinationURL: program)
            let nowhere = folder.appending(path: "gone")

            #expect(try ChinookData.file(beside: program, sources: nowhere).path == rows.path)
            #expect(
                try ChinookData.file(beside: link, sources: nowhere).resolvingSymlinksInPath().path
                    == rows.resolvingSymlinksInPath().path)
            let compiled = try ChinookData.file(beside: nil)
            #expect(compiled.path.hasSuffix("Sources/dbtool/Chinook/ChinookData.json"))
        }
    }

    @Test func `a program alone says what to copy, and does not trap`() throws {
        try withTemporaryFolder { folder in
            let program = folder.appending(path: "dbtool")
            let error = #expect(throws: ToolError.self) {
                try ChinookData.file(beside: program, sources: folder.appending(path: "gone"))
            }
            let text = try #require(error).description

            #expect(text.contains("copy the folder \(ChinookData.folderName)"))
        }
    }

    @Test func `a copied program makes the demo`() throws {
        let built = Checkout.products.appending(path: "dbtool")
        try #require(FileManager.default.isExecutableFile(atPath: built.path))
        try withTemporaryFolder { folder in
            let copy = folder.appending(path: "dbtool")
            try FileManager.default.copyItem(at: built, to: copy)
            let process = Process()
            process.executableURL = copy
            process.arguments = ["demo", "away.espalier"]
            process.currentDirectoryURL = folder
            process.standardOutput = FileHandle.nullDevice
            try process.run()
            process.waitUntilExit()

            #expect(process.terminationReason == .exit)
            #expect(process.terminationStatus == 0)
        }
    }
}
