package commandline

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"
)

// shells write the scripts that complete a command.
var shells = map[string]func(root *cobra.Command, w io.Writer) error{
	"bash":       func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, true) },
	"zsh":        func(root *cobra.Command, w io.Writer) error { return root.GenZshCompletion(w) },
	"fish":       func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) },
	"powershell": func(root *cobra.Command, w io.Writer) error { return root.GenPowerShellCompletionWithDesc(w) },
}

// completionCommand prints the scripts.
func completionCommand(name string) *cobra.Command {
	names := slices.Sorted(maps.Keys(shells))
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "print a script that has a shell complete this command",
		Long: fmt.Sprintf(`Prints a script by which a shell completes subcommands, flags, their values and
the files that they take. SHELL is bash, fish, powershell or zsh. Each is read by
new shells once it lies here:

  bash        /etc/bash_completion.d/%[1]s, or
              ~/.local/share/bash-completion/completions/%[1]s
              (the package bash-completion is needed)
  zsh         a file _%[1]s in a folder of $fpath, with "autoload -U compinit;
              compinit" in ~/.zshrc
  fish        ~/.config/fish/completions/%[1]s.fish
  powershell  in a file that $PROFILE runs`, name),
		Example: fmt.Sprintf(`
source <(%[1]s completion bash)          # for this shell only
%[1]s completion bash >~/.local/share/bash-completion/completions/%[1]s
%[1]s completion zsh >"${fpath[1]}/_%[1]s"
%[1]s completion fish >~/.config/fish/completions/%[1]s.fish
%[1]s completion powershell | Out-String | Invoke-Expression`, name),
		Args:              Arguments(1, 1, "a shell: bash, fish, powershell or zsh"),
		ValidArgsFunction: cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp),
		RunE: func(c *cobra.Command, args []string) error {
			write, ok := shells[args[0]]
			if !ok {
				return Usagef("the shell is %q: want bash, fish, powershell or zsh", args[0])
			}
			return write(c.Root(), c.OutOrStdout())
		},
	}
}
