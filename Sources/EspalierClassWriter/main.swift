// Writes the `@Entity` classes of a model file to a Swift file: what the build plug-in `EspalierClasses` runs.
//
//   EspalierClassWriter MODEL OUTPUT
//
// Invariants
//   1. Every part of the model that classes do not have is a warning of the build; names that no property can have, and
//      a model that cannot be read, are its errors, and no file is written.
//   2. A file that has the right text already is left alone, so that nothing is compiled again.

import EspalierModel
import EspalierModelFile
import Foundation

/// Ends the build with an error.
func fail(_ message: String) -> Never {
    FileHandle.standardError.write(Data("error: \(message)\n".utf8))
    exit(1)
}

guard CommandLine.arguments.count == 3 else { fail("usage: EspalierClassWriter MODEL OUTPUT") }
let (model, output) = (URL(filePath: CommandLine.arguments[1]), URL(filePath: CommandLine.arguments[2]))
let classes: EntityClassSource
var omissions: [String] = []
do {
    let document = try ModelDocument(contentsOf: model)
    omissions = try document.conversion().unsupported.map(\.description)
    classes = try EntityClassSource(
        ManagedObjectModel(document, ignoring: Set(ModelFeature.allCases)), origin: model.lastPathComponent,
        compositeNames: CompositeNames(document))
    omissions += classes.omissions
} catch let error as ModelFileError {
    fail("\(error)")
} catch {
    fail("\(model.path): \(error)")
}
for omission in omissions { print("warning: \(model.path): \(omission)") }
let source = Data(classes.text.utf8)
if (try? Data(contentsOf: output)) != source {
    do {
        try source.write(to: output, options: .atomic)
    } catch {
        fail("\(output.path): \(error.localizedDescription)")
    }
}
