// The checkout that these tests were compiled from: its files and their text, read once.

import Foundation
import Testing

/// The files of a checkout.
struct Repository: CustomTestStringConvertible {
    /// The checkout that holds this file.
    static let current = Repository(
        root: URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent())

    /// The root folder.
    let root: URL
    /// The paths of all files that are under version control or new and not ignored, ascending.
    let paths: [String]
    /// The Swift files among them.
    let swiftFiles: [SourceFile]

    init(root: URL) {
        self.root = root
        paths = Self.versionedPaths(in: root)
        swiftFiles = paths.filter { $0.hasSuffix(".swift") }.compactMap { path in
            (try? String(contentsOf: root.appending(path: path), encoding: .utf8)).map {
                SourceFile(path: path, text: $0)
            }
        }
    }

    /// A repository that exists only in a test of the rules themselves.
    init(paths: [String], swiftFiles: [SourceFile] = []) {
        root = URL(filePath: "/nowhere")
        self.paths = paths
        self.swiftFiles = swiftFiles
    }

    /// The root folder, so that a failed expectation does not print every file.
    var testDescription: String { root.path }

    /// The text of a file; `nil` if there is none or it is not UTF-8.
    func text(of path: String) -> String? { try? String(contentsOf: root.appending(path: path), encoding: .utf8) }

    /// The files that git lists: tracked files, and new ones that no `.gitignore` names; without deleted ones.
    private static func versionedPaths(in root: URL) -> [String] {
        let git = Process()
        git.executableURL = URL(filePath: "/usr/bin/env")
        git.arguments = ["git", "-C", root.path, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        let output = Pipe()
        git.standardOutput = output
        guard (try? git.run()) != nil else { return [] }
        let bytes = output.fileHandleForReading.readDataToEndOfFile()
        git.waitUntilExit()
        return Set(bytes.split(separator: 0).map { String(decoding: $0, as: UTF8.self) })
            .filter { FileManager.default.fileExists(atPath: root.appending(path: $0).path) }
            .sorted()
    }
}
