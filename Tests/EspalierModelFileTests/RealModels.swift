// The model files of applications and libraries beside these tests, each folder with its source and license.

import EspalierModelFile
import Foundation

enum RealModels {
    /// The folder with all of the files.
    static var folder: URL { URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Models") }

    /// Every version of every model, by its path within the folder.
    static let paths: [String] = paths(endingWith: ".xcdatamodel")

    /// Every folder of versions.
    static let versionPaths: [String] = paths(endingWith: ".xcdatamodeld")

    static func url(_ path: String) -> URL { folder.appending(path: path) }

    /// The bytes of a version's file.
    static func bytes(_ path: String) throws -> Data { try Data(contentsOf: url(path).appending(path: "contents")) }

    static func paths(endingWith ending: String) -> [String] {
        let all = (try? FileManager.default.subpathsOfDirectory(atPath: folder.path)) ?? []
        return all.filter { $0.hasSuffix(ending) }.sorted()
    }
}
