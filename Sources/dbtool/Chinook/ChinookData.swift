// Locates the rows of the demo: in the folder that a build puts next to the executable, or next to this source file.
//
// `Bundle.module` is not used, because it ends the process if there is no such folder.

import Foundation

/// The file with the rows.
enum ChinookData {
    /// The folder that a build puts next to the executable.
    static let folderName = "Espalier_dbtool.resources"
    private static let name = "ChinookData.json"
    /// The folder of this file when it was compiled.
    static let compiledFolder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()

    /// The data file for an executable, wherever the executable was copied.
    ///
    /// - Parameter sources: the folder to search last, so that a copy of the executable alone works while the checkout
    ///   exists.
    /// - Throws: `ToolError.file`, which says what to copy.
    static func file(beside executable: URL?, sources: URL = compiledFolder) throws(ToolError) -> URL {
        let folders = [executable, executable?.resolvingSymlinksInPath()].compactMap(\.self).map {
            $0.deletingLastPathComponent().appending(path: folderName)
        }
        let candidates = folders + [sources]
        let files = candidates.map { $0.appending(path: name) }
        guard let file = files.first(where: { FileManager.default.isReadableFile(atPath: $0.path) }) else {
            throw .file(
                path: folders.first?.path ?? folderName,
                reason:
                    "is missing: it contains the rows of the demo; copy the folder \(folderName) from the build folder "
                    + "(swift build -c release --show-bin-path) to the folder of the program")
        }
        return file
    }
}
