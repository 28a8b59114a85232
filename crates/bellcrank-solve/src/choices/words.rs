//! Options that take one word of a few.

/// An enum whose members have names: `by_name`, `name`, `NAMES` and the table `ALL` come from one list. `Enum: Member`
/// has a default.
macro_rules! named {
    ($(#[$meta:meta])* $enum:ident $(: $default:ident)? { $( $(#[doc = $doc:literal])+ $member:ident = $name:literal, )+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $enum { $( $(#[doc = $doc])+ $member, )+ }

        $( impl Default for $enum {
            fn default() -> $enum {
                $enum::$default
            }
        } )?

        impl std::fmt::Display for $enum {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl $enum {
            /// All members with their names and what they mean.
            pub const ALL: &'static [($enum, &'static str, &'static str)] =
                &[ $( ($enum::$member, $name, concat!($($doc),+)), )+ ];

            /// All names.
            pub const NAMES: &'static [&'static str] = &[ $( $name, )+ ];

            /// The member of a name.
            pub fn by_name(name: &str) -> Option<$enum> {
                $enum::ALL.iter().find(|(_, n, _)| *n == name).map(|(member, ..)| *member)
            }

            /// Its name in files and on the command line.
            pub fn name(self) -> &'static str {
                $enum::NAMES[self as usize]
            }
        }
    };
}
pub(crate) use named;

named! {
    /// Which unknowns decide in error and convergence tests. Multipliers never do, but for `All`.
    Tested {
        /// The coordinates.
        Q = "q",
        /// Coordinates and velocities.
        QV = "q+v",
        /// Also the multipliers, as in classical GGL codes (in the convergence test).
        All = "all",
    }
}

named! {
    /// Which coordinates the error test looks at. The convergence test always looks at all of them.
    ErrorScope: All {
        /// All of them.
        All = "all",
        /// Those that the split finds independent; the root of the mean square is over them alone, so the
        /// test is √(n/p) stricter than one over all n.
        Independent = "independent",
    }
}

named! {
    /// What the tolerance is for, and whether the error at the end is told.
    ErrorBudget: Told {
        /// The error of the run where energy neither leaves nor enters, so that errors add up; else that of every step, and the error
        /// at the end is told.
        Auto = "auto",
        /// Every step may err by a part of it, whatever becomes of that.
        Step = "step",
        /// The same, and the error at the end is estimated on the way and told, where a run is asked for that
        /// (`Simulation::tell_error`; the program and Python ask).
        Told = "told",
        /// The error of a run: it is estimated on the way, and steps are as strict as it asks for.
        Run = "run",
    }
}

named! {
    /// In which coordinates a model moves.
    Coordinates: Cartesian {
        /// Those of every body, with equations for all joints.
        Cartesian = "cartesian",
        /// Those of the joints of a tree, with equations where loops close.
        Relative = "relative",
    }
}

named! {
    /// What solves for accelerations and reactions.
    Solver: Auto {
        /// The cheapest by count of operations.
        Auto = "auto",
        /// Elimination of the whole system, block by block, at every evaluation.
        Direct = "direct",
        /// Dense LU of the whole matrix, with pivoting, for small models.
        Dense = "dense",
        /// Relative coordinates and a recursion over their tree, where nothing closes a loop; explicit methods.
        Recursion = "recursion",
        /// A recursion over a tree of joints, and conjugate gradients on the equations that close its loops; explicit
        /// methods, and fixed steps on index3.
        LoopCg = "loop-cg",
        /// Sequential regularization of the equations that close loops [Ascher & Lin 2000]; euler, rk2 and rk4.
        Srm = "srm",
        /// Sequential regularization of all constraints; euler, rk2 and rk4.
        SrmAll = "srm-all",
    }
}

impl Solver {
    /// Whether it is sequential regularization.
    pub fn regularizes(self) -> bool {
        matches!(self, Solver::Srm | Solver::SrmAll)
    }
}

named! {
    /// What keeps the tree of sequential regularization on its constraints.
    SrmTree: Projected {
        /// A projection after every step.
        Projected = "projected",
        /// Baumgarte's stabilization of its accelerations, with `baumgarte_alpha` and `baumgarte_beta`.
        Baumgarte = "baumgarte",
        /// Nothing: it drifts as the method lets it.
        Drifting = "drifting",
    }
}

named! {
    /// The multipliers that sequential regularization begins its iterates with.
    SrmStart: Zero {
        /// None.
        Zero = "zero",
        /// Those of the start: no iterate has to find them first.
        Exact = "exact",
    }
}

named! {
    /// How BDF controls its order, its steps and its matrices.
    StepControl: Own {
        /// DASSL's control with our changes.
        Own = "own",
        /// DASSL's control to the letter, for the counts of papers [Brenan, Campbell & Petzold 1996].
        Dassl = "dassl",
    }
}
