// The build plug-in: makes the `@Entity` classes of each model file in a target's folder, as a part of each build.
//
// Invariants
//   1. It only names commands; `EspalierClassWriter` reads and writes the files.
//   2. A command has every file of its model as an input, so that a changed model is a changed source.

import Foundation
import PackagePlugin

/// Adds the classes of model files to a target.
///
/// ```swift
/// .target(
///     name: "Shop", dependencies: [.product(name: "Espalier", package: "espalier")],
///     exclude: ["Shop.xcdatamodeld"], plugins: [.plugin(name: "EspalierClasses", package: "espalier")])
/// ```
///
/// A model file is a `.xcdatamodeld` folder, whose current version counts, a `.xcdatamodel` folder, or a compiled
/// `.mom` or `.momd`. It may be anywhere below the folder of the target. The classes are internal. `exclude`
/// keeps the build from asking what kind of resource it is; the plug-in finds it all the same.
@main struct EspalierClasses: BuildToolPlugin {
    private static let extensions: Set = ["xcdatamodeld", "xcdatamodel", "momd", "mom"]

    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        guard let target = target as? any SourceModuleTarget else { return [] }
        let writer = try context.tool(named: "EspalierClassWriter").url
        var models: [String: URL] = [:]
        var commands: [Command] = []
        for model in Self.models(in: target.directoryURL) {
            let name = model.deletingPathExtension().lastPathComponent
            if let other = models.updateValue(model, forKey: name) {
                Diagnostics.error(
                    "\(other.path) and \(model.path) have one name, and their classes would be one file; rename one")
                continue
            }
            let output = context.pluginWorkDirectoryURL.appending(path: "\(name)Classes.swift")
            commands.append(
                .buildCommand(
                    displayName: "Making the classes of \(model.lastPathComponent)", executable: writer,
                    arguments: [model.path, output.path], inputFiles: Self.files(of: model), outputFiles: [output]))
        }
        return commands
    }

    /// The model files below a folder, in the order of their paths; those within a folder of versions are a part of it.
    private static func models(in folder: URL) -> [URL] {
        contents(of: folder).flatMap { url -> [URL] in
            if extensions.contains(url.pathExtension) { return [url] }
            return isFolder(url) ? models(in: url) : []
        }
    }

    /// The files that a model consists of.
    private static func files(of model: URL) -> [URL] {
        isFolder(model) ? contents(of: model).flatMap(files) : [model]
    }

    private static func contents(of folder: URL) -> [URL] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.sorted().map { folder.appending(path: $0) }
    }

    private static func isFolder(_ url: URL) -> Bool {
        var isFolder: ObjCBool = false
        return FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder) && isFolder.boolValue
    }
}
