// An application's package that depends on this one, by path and by version: it builds, runs and can use the macros.

import Foundation
import TestSupport
import Testing

/// The test compiles the library from the start, so there is one: a dependency by version is the stricter kind.
///
/// A package that depends on a checkout by path may use flags, products and files that a version may not.
///
/// It is a step of its own of `.ci/run`, and no part of the default run: it takes minutes.
@Suite(.enabled(if: campaignCount("ESPALIER_CONSUMER_PACKAGE", default: 0) > 0))
struct ConsumerPackageTests {
    @Test func `a package that depends on a version builds and runs, with classes of its model file`() throws {
        try withTemporaryFolder { folder in
            let origin = folder.appending(path: "Espalier")
            try publish(version: "0.1.0", at: origin)

            let output = try run(
                "Shop", in: folder, dependency: ".package(url: \"\(origin.absoluteString)\", from: \"0.1.0\")")

            #expect(output == Self.expectedOutput + "1.5\n")
        }
    }

    private static let program = #"""
        import Espalier

        @Entity final class Album: ManagedObject {
            var title: String = ""
            @Relationship(deleteRule: .cascade) var tracks: Set<Track>
        }

        @Entity final class Track: ManagedObject {
            var name: String = ""
            @Relationship(inverse: \Album.tracks) var album: Album?
        }

        @MainActor func withLibrary(_ body: (ManagedObjectContext) throws -> Void) throws {
            let container = try PersistentContainer(for: [Album.self, Track.self], at: "music.espalier")
            try body(container.viewContext)
            try container.close()
        }

        try withLibrary { context in
            let album = Album(context: context)
            album.title = "Kind of Blue"
            for name in ["So What", "Blue in Green"] {
                let track = Track(context: context)
                (track.name, track.album) = (name, album)
            }
            try context.save()
        }
        try withLibrary { context in
            for album in try context.fetch(FetchRequest<Album>()) {
                print(album.title, album.tracks.map(\.name).sorted(), separator: ": ")
            }
        }

        """#

    private static let expectedOutput = "Kind of Blue: [\"Blue in Green\", \"So What\"]\n"

    /// A model file, whose class the program prints the default of.
    private static let model = """
        <model><entity name="Größe"><attribute name="faktor" attributeType="Double" defaultValueString="1.5"/>
        </entity></model>
        """

    /// Builds and runs a package with the program above and the model file, whose classes the build plug-in makes;
    /// returns the program's output.
    private func run(_ name: String, in folder: URL, dependency: String) throws -> String {
        let package = folder.appending(path: name)
        try write(
            """
            // swift-tools-version: 6.2
            import PackageDescription

            let package = Package(
                name: "\(name)",
                dependencies: [\(dependency)],
                targets: [
                    .executableTarget(
                        name: "\(name)", dependencies: [.product(name: "Espalier", package: "Espalier")],
                        exclude: ["Maße.xcdatamodel"],
                        plugins: [.plugin(name: "EspalierClasses", package: "Espalier")])
                ])

            """, to: package.appending(path: "Package.swift"))
        let sources = package.appending(path: "Sources/\(name)")
        try write(Self.program + "print(Größe().faktor)\n", to: sources.appending(path: "main.swift"))
        try write(Self.model, to: sources.appending(path: "Maße.xcdatamodel/contents"))
        let options = ["--disable-index-store", "-debug-info-format", "none"]
        let build = try Command("swift", ["run"] + options + [name], in: package)
        let log = (build.errors + build.output).split(separator: "\n")
        let complaints = log.filter { line in ["error: ", "warning: "].contains { line.contains($0) } }

        #expect(complaints.isEmpty, "\(complaints.joined(separator: "\n"))")
        #expect(build.code == 0, "\(log.suffix(20).joined(separator: "\n"))")
        return build.output
    }

    /// Makes a repository with the current files of this checkout, tagged with `version`.
    private func publish(version: String, at origin: URL) throws {
        try FileManager.default.createDirectory(at: origin, withIntermediateDirectories: true)
        let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        for path in try git(list, in: Checkout.root).split(separator: "\0") {
            let source = Checkout.root.appending(path: String(path))
            guard let content = try? Data(contentsOf: source) else { continue }
            let copy = origin.appending(path: String(path))
            try FileManager.default.createDirectory(
                at: copy.deletingLastPathComponent(), withIntermediateDirectories: true)
            try content.write(to: copy)
        }
        let author = ["-c", "user.name=Espalier", "-c", "user.email=tests@example.com", "-c", "commit.gpgsign=false"]
        _ = try git(["init", "--quiet"], in: origin)
        _ = try git(["add", "--all"], in: origin)
        _ = try git(author + ["commit", "--quiet", "--message", "Version \(version)"], in: origin)
        _ = try git(["tag", version], in: origin)
    }

    private func git(_ arguments: [String], in folder: URL) throws -> String {
        let run = try Command("git", arguments, in: folder)
        try #require(run.code == 0, "\(run.errors)")
        return run.output
    }

    private func write(_ text: String, to file: URL) throws {
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: file)
    }
}
